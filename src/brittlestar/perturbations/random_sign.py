"""Noise of full size and random sign: the baseline of adversarial attacks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from brittlestar.errors import require
from brittlestar.perturbations.observations import ScaledObservation
from brittlestar.perturbations.step import Step


@dataclass
class RandomSignObservation(ScaledObservation):
    """Adds `level * epsilon * unit * s` with a random sign `s = ±1`: a random corner of the box that attacks search.

    Example:
        >>> np.abs(RandomSignObservation(epsilon=0.5).perturb_observation(np.zeros((1, 3)), Step.full())).tolist()
        [[0.5, 0.5, 0.5]]
    """

    strength_field: ClassVar[str] = "epsilon"
    epsilon: float

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.epsilon >= 0, "epsilon", "at least 0", self.epsilon)

    def perturb(self, array: np.ndarray, step: Step) -> np.ndarray:
        """Moves to the corner."""
        radius = step.of(self, "epsilon", array) * self.unit(step)
        return array + radius * sign(draw_start(array, step))


def draw_start(array: np.ndarray, step: Step) -> np.ndarray:
    """Draws a point of the box [-1, 1] with the shape of `array`."""
    return 2.0 * step.draws.uniform(array.shape[1:]) - 1.0


def sign(values: np.ndarray) -> np.ndarray:
    """Returns -1 or 1, never 0."""
    return np.where(values < 0, -1.0, 1.0)
