"""Cameras that are shifted, turned or zoomed; MuJoCo environments with `env.pixels`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from brittlestar.envs.scenes import SceneEdits
from brittlestar.errors import NonNegative
from brittlestar.perturbations.base import Perturbation
from brittlestar.perturbations.step import Step


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
