"""Gaussian noise on observations."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from brittlestar.errors import NonNegative
from brittlestar.perturbations.observations import ScaledObservation
from brittlestar.perturbations.step import Step


@dataclass
class GaussianObservation(ScaledObservation):
    """Adds `level * sigma * unit * N(0, 1)` to every observed number.

    Example:
        >>> noisy = GaussianObservation(sigma=0.1).perturb_observation(np.zeros((2, 3)), Step.full(2))
        >>> noisy.shape, bool(np.all(noisy != 0))
        ((2, 3), True)
    """

    strength_field: ClassVar[str] = "sigma"
    sigma: NonNegative

    def perturb(self, array: np.ndarray, step: Step) -> np.ndarray:
        return array + step.of(self, "sigma", array) * self.unit(step) * step.draws.normal(array.shape[1:])
