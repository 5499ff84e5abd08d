"""Distorted sensors: a wrong gain, and quantisation."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from brittlestar.errors import Finite, NonNegative
from brittlestar.perturbations.additive import Draw, per_episode
from brittlestar.perturbations.observations import ObservationPerturbation, ScaledObservation
from brittlestar.perturbations.step import Step


@dataclass
class ScaleObservation(ObservationPerturbation):
    """Multiplies every observed number by `1 + level * gain_error * d`; `d` is 1, or N(0, 1) for each episode.

    Example:
        >>> half = ScaleObservation(gain_error=-0.5, draw="fixed")
        >>> half.perturb_observation(np.full((2, 2), 3.0), Step.full(2)).tolist()
        [[1.5, 1.5], [1.5, 1.5]]
    """

    strength_field: ClassVar[str] = "gain_error"
    gain_error: Finite
    draw: Draw = "normal"
    """`fixed`: the same gain for every number and episode; `normal`: a new one for each."""

    def perturb(self, array: np.ndarray, step: Step) -> np.ndarray:
        return array * (1.0 + step.of(self, "gain_error", array) * per_episode(self.draw, array, step))


@dataclass
class QuantisedObservation(ScaledObservation):
    """Rounds every observed number to the nearest multiple of `level * step_size * unit`.

    Example:
        >>> QuantisedObservation(step_size=0.5).perturb_observation(np.array([[0.2, 0.3, -1.6]]), Step.full()).tolist()
        [[0.0, 0.5, -1.5]]
    """

    strength_field: ClassVar[str] = "step_size"
    step_size: NonNegative

    def perturb(self, array: np.ndarray, step: Step) -> np.ndarray:
        size = np.asarray(step.of(self, "step_size", array) * self.unit(step))
        coarse = np.rint(array / np.where(size > 0, size, 1.0)) * size
        return np.where(size > 0, coarse, array)
