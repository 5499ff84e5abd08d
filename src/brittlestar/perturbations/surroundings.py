"""Other colours, and things that lie around; MuJoCo environments with `env.pixels`."""

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import ClassVar

import numpy as np

from brittlestar.envs.scenes import Ornament, Paint, SceneEdits
from brittlestar.errors import Fraction, NonNegative, PositiveInt, UserError, nearest
from brittlestar.perturbations.cameras import ScenePerturbation, both_ways

_KINDS = ("sphere", "box", "cylinder")
_DRAWS_PER_OBJECT = 7


@dataclass
class SceneColour(ScenePerturbation):
    """Moves colours towards another: `(1 - level * amount) * colour + level * amount * U(0, 1)^3`.

    Example:
        >>> from brittlestar.perturbations.step import Step
        >>> scene = SceneEdits()
        >>> SceneColour(amount=0.5, names=["table*"]).perturb_scene([scene], Step.full())
        >>> scene.paints[0].amount
        0.5
    """

    strength_field: ClassVar[str] = "amount"
    draws_per_episode: ClassVar[int] = 3
    amount: Fraction
    names: list[str] | None = None
    """Names or patterns of geoms, bodies or materials; None is everything, in one colour."""

    def check_scene(self, names: Sequence[str]) -> None:
        for pattern in self.names or ():
            if not any(fnmatchcase(name, pattern) for name in names):
                raise UserError(f"`names`: nothing in the scene is called {pattern!r}; {nearest(pattern, names)}")

    def edit(self, scene: SceneEdits, amount: float, draws: np.ndarray) -> None:
        scene.paints.append(Paint(self.names, draws.copy(), amount))


@dataclass
class Distractors(ScenePerturbation):
    """Draws `count` things of a size of `level * size * U(0.5, 1)` metres around the point that the camera looks at.

    They are spheres, boxes and cylinders in random colours, up to `reach` metres away along x and y. Nothing can touch
    them, and they follow the camera's point, so a shifted camera still shows them.

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
