"""Gaussian noise on observations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from brittlestar.errors import require
from brittlestar.perturbations.base import ScaledObservation, Step


@dataclass
class GaussianObservation(ScaledObservation):
    """Adds `level * sigma * unit * N(0, 1)` to every observed number.

    Example:
        >>> import numpy as np
        >>> from brittlestar.randomness import LaneDraws
        >>> step = Step(level=np.ones(2), first=np.ones(2, bool), draws=LaneDraws(0, "noise", 2))
        >>> noisy = GaussianObservation(sigma=0.1).perturb_observation(np.zeros((2, 3)), step)
        >>> noisy.shape, bool(np.all(noisy != 0))
        ((2, 3), True)
    """

    strength_field: ClassVar[str] = "sigma"
    sigma: float

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.sigma >= 0, "sigma", "at least 0", self.sigma)

    def perturb(self, array: np.ndarray, step: Step) -> np.ndarray:
        """Adds the noise."""
        return array + step.of(self, "sigma", array) * self.unit(step) * step.draws.normal(array.shape[1:])
