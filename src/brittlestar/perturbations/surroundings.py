"""Other colours, other textures, and things that lie around; MuJoCo environments with `env.pixels`."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Annotated, ClassVar, Literal

import numpy as np

from brittlestar.envs.scenes import Ornament, Paint, SceneEdits, Texture
from brittlestar.envs.textures import PATTERNS
from brittlestar.errors import Fraction, NonNegative, PositiveInt, UserError, nearest
from brittlestar.perturbations.cameras import LowHigh, ScenePerturbation, both_ways, some_of

_KINDS = ("sphere", "box", "cylinder")
_DRAWS_PER_OBJECT = 7
_COLOURS = 16
"""Different colours of an episode, if each material has its own."""


@dataclass
class NamedScenePerturbation(ScenePerturbation):
    """Changes the surface of things, which are chosen by name."""

    strength_field: ClassVar[str] = "amount"
    amount: Fraction
    names: list[str] | None = None
    """Names or patterns of geoms, bodies or materials; None is everything."""

    def check_scene(self, names: Sequence[str]) -> None:
        for pattern in self.names or ():
            if not any(fnmatchcase(name, pattern) for name in names):
                raise UserError(f"`names`: nothing in the scene is called {pattern!r}; {nearest(pattern, names)}")


@dataclass
class SceneColour(NamedScenePerturbation):
    """Moves colours towards another: `(1 - level * amount) * colour + level * amount * U(low, high)^3`.

    If `kind` is `shift`, a colour moves by up to `level * amount` either way, within [0, 1].

    Example:
        >>> from brittlestar.perturbations.step import Step
        >>> scene = SceneEdits()
        >>> SceneColour(amount=0.5, names=["table*"]).perturb_scene([scene], Step.full())
        >>> scene.paints[0].amount
        0.5
    """

    rgb: LowHigh = field(default_factory=lambda: [0.0, 1.0])
    each: bool = False
    """Whether each material has a colour of its own; a body, where it has no material. Otherwise all have the same."""
    kind: Literal["mix", "shift"] = "mix"

    @property
    def draws_per_episode(self) -> int:  # type: ignore[override]
        """Red, green and blue of every colour."""
        return 3 * _COLOURS if self.each else 3

    def edit(self, scene: SceneEdits, amount: float, draws: np.ndarray) -> None:
        low, high = self.rgb
        rgb = low + (high - low) * (draws.reshape(_COLOURS, 3) if self.each else draws)
        scene.paints.append(Paint(self.names, rgb, amount, self.kind == "shift"))


@dataclass
class SceneTexture(NamedScenePerturbation):
    """Moves the look of things towards a pattern: `(1 - level * amount) * colour + level * amount * pattern`.

    Each material has a pattern of its own, in two random colours; a body, where it has no material. Sites, which mark
    goals, keep their look unless `names` has them.

    Example:
        >>> from brittlestar.perturbations.step import Step
        >>> scene = SceneEdits()
        >>> SceneTexture(amount=0.5).perturb_scene([scene], Step.full())
        >>> scene.textures[0].patterns
        ['checker', 'stripes', 'noise', 'gradient']
    """

    patterns: Annotated[list[str], some_of(*PATTERNS)] = field(default_factory=lambda: list(PATTERNS))

    def edit(self, scene: SceneEdits, amount: float, draws: np.ndarray) -> None:
        # A float in [0, 1) has 53 random bits.
        scene.textures.append(Texture(self.names, self.patterns, int(draws[0] * 2**53), amount))


@dataclass
class Distractors(ScenePerturbation):
    """Draws `count` things of a size of `level * size * U(0.5, 1)` metres around the point that the camera looks at.

    They are spheres, boxes and cylinders in random colours, up to `reach` metres away along x and y. Nothing can touch
    them. They lie around the point that the first camera looks at in the initial state, and remain there when a camera
    moves.

    Example:
        >>> from brittlestar.perturbations.step import Step
        >>> scene = SceneEdits()
        >>> Distractors(size=0.05).perturb_scene([scene], Step.full())
        >>> len(scene.ornaments)
        3
    """

    strength_field: ClassVar[str] = "size"
    size: NonNegative
    count: PositiveInt = 3
    reach: NonNegative = 0.3
    """Metres."""

    @property
    def draws_per_episode(self) -> int:  # type: ignore[override]
        """As many draws as the things need."""
        return _DRAWS_PER_OBJECT * self.count

    def edit(self, scene: SceneEdits, amount: float, draws: np.ndarray) -> None:
        for kind, size, x, y, *rgb in draws.reshape(self.count, _DRAWS_PER_OBJECT).tolist():
            radius, (across, along) = amount * (0.5 + size / 2), self.reach * both_ways(np.array([x, y]))
            place = np.array([across, along, radius])
            scene.ornaments.append(Ornament(_KINDS[int(kind * len(_KINDS))], place, radius, np.array(rgb)))
