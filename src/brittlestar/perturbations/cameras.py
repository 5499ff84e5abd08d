"""Cameras that are shifted, turned, bumped or zoomed; MuJoCo environments with `env.pixels`."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, ClassVar

import numpy as np

from brittlestar.envs.scenes import SceneEdits
from brittlestar.errors import Bound, Fraction, NonNegative
from brittlestar.perturbations.base import Perturbation
from brittlestar.perturbations.step import Step


def _is_range(values: list[float]) -> bool:
    return len(values) == 2 and 0 <= values[0] <= values[1] < np.inf


LowHigh = Annotated[list[float], Bound("[low, high] with low at least 0", _is_range)]
"""The lowest and the highest value of what is drawn."""


def some_of(*names: str) -> Bound:
    """Returns the bound of a list that has at least one of some names, and no other.

    Example:
        >>> some_of("checker", "noise").holds(["noise"]), some_of("checker", "noise").holds(["nose"])
        (True, False)
    """
    return Bound(f"a list of some of {', '.join(names)}", lambda values: bool(values) and set(values) <= set(names))


@dataclass
class ScenePerturbation(Perturbation):
    """Edits what cameras show: a subclass implements `edit`. Numbers are drawn once per episode, whatever the level."""

    needs_scene = True
    draws_per_episode: ClassVar[int] = 1
    """How many numbers an episode draws."""

    def perturb_scene(self, scenes: Sequence[SceneEdits], step: Step) -> None:
        amounts = self.amounts(step)
        draws = step.draws.uniform((self.draws_per_episode,), per_episode=True)
        for scene, amount, numbers in zip(scenes, amounts.tolist(), draws, strict=True):
            if amount:
                self.edit(scene, amount, numbers)

    def amounts(self, step: Step) -> np.ndarray:
        """Returns the strength times the level, `(lanes,)`."""
        assert self.strength_field is not None
        return np.zeros(len(step.level)) + step.of(self, self.strength_field, step.level)

    def edit(self, scene: SceneEdits, amount: float, draws: np.ndarray) -> None:
        """Edits the scene of one lane; `draws` are uniform in [0, 1)."""
        raise NotImplementedError


def both_ways(draws: np.ndarray) -> np.ndarray:
    """Returns draws from [0, 1) as numbers in [-1, 1).

    Example:
        >>> both_ways(np.array([0.0, 0.75])).tolist()
        [-1.0, 0.5]
    """
    return np.asarray(2 * draws - 1)


@dataclass
class CameraView(ScenePerturbation):
    """Moves the camera, and the point it looks at, by `level * shift * U(-1, 1)` metres along x, y and z.

    Example:
        >>> scene = SceneEdits()
        >>> CameraView(shift=0.15).perturb_scene([scene], Step.full())
        >>> bool((np.abs(scene.shift) <= 0.15).all() and scene.acts)
        True
    """

    strength_field: ClassVar[str] = "shift"
    draws_per_episode: ClassVar[int] = 3
    shift: NonNegative

    def edit(self, scene: SceneEdits, amount: float, draws: np.ndarray) -> None:
        scene.shift = scene.shift + amount * both_ways(draws)


@dataclass
class CameraRotation(ScenePerturbation):
    """Turns the camera around the point it looks at.

    By `level * degrees * U(-1, 1)` in azimuth, and by `elevation_ratio` and `roll_ratio` times as much, with draws of
    their own, in elevation and roll.

    Example:
        >>> scene = SceneEdits()
        >>> CameraRotation(degrees=20).perturb_scene([scene], Step.full())
        >>> abs(scene.azimuth) <= 20, abs(scene.elevation) <= 10, abs(scene.roll) <= 5
        (True, True, True)
    """

    strength_field: ClassVar[str] = "degrees"
    draws_per_episode: ClassVar[int] = 3
    degrees: NonNegative
    elevation_ratio: NonNegative = 0.5
    roll_ratio: NonNegative = 0.25

    def edit(self, scene: SceneEdits, amount: float, draws: np.ndarray) -> None:
        azimuth, elevation, roll = (amount * both_ways(draws)).tolist()
        scene.azimuth += azimuth
        scene.elevation += self.elevation_ratio * elevation
        scene.roll += self.roll_ratio * roll


@dataclass
class CameraAim(ScenePerturbation):
    """Turns the camera where it is, by `level * degrees * U(-1, 1)` each to the side, up and around its line of sight.

    Example:
        >>> scene = SceneEdits()
        >>> CameraAim(degrees=3).perturb_scene([scene], Step.full())
        >>> abs(scene.pan) <= 3, abs(scene.tilt) <= 3, abs(scene.roll) <= 3
        (True, True, True)
    """

    strength_field: ClassVar[str] = "degrees"
    draws_per_episode: ClassVar[int] = 3
    degrees: NonNegative

    def edit(self, scene: SceneEdits, amount: float, draws: np.ndarray) -> None:
        pan, tilt, roll = (amount * both_ways(draws)).tolist()
        scene.pan, scene.tilt, scene.roll = scene.pan + pan, scene.tilt + tilt, scene.roll + roll


@dataclass
class CameraDistance(ScenePerturbation):
    """Multiplies the distance to the point that the camera looks at by `1 + level * amount * (f - 1)`, f in `factors`.

    Example:
        >>> scene = SceneEdits()
        >>> CameraDistance(amount=1.0).perturb_scene([scene], Step.full())
        >>> 0.5 <= scene.distance <= 2.5
        True
    """

    strength_field: ClassVar[str] = "amount"
    amount: Fraction
    factors: LowHigh = field(default_factory=lambda: [0.5, 2.5])

    def edit(self, scene: SceneEdits, amount: float, draws: np.ndarray) -> None:
        low, high = self.factors
        scene.distance *= 1 + amount * (low + (high - low) * float(draws[0]) - 1)


@dataclass
class CameraFieldOfView(ScenePerturbation):
    """Adds `level * degrees * U(-1, 1)` to the vertical field of view, as another lens does.

    Example:
        >>> scene = SceneEdits()
        >>> CameraFieldOfView(degrees=5).perturb_scene([scene], Step.full())
        >>> 0 < abs(scene.field_of_view) <= 5
        True
    """

    strength_field: ClassVar[str] = "degrees"
    degrees: NonNegative

    def edit(self, scene: SceneEdits, amount: float, draws: np.ndarray) -> None:
        scene.field_of_view += amount * float(both_ways(draws)[0])
