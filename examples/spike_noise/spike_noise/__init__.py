"""Spikes on sensors: a noise model that brittlestar finds by an entry point."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from brittlestar import ObservationPerturbation, Step


@dataclass
class SpikeObservation(ObservationPerturbation):
    """Adds `±height` to an observed number with probability `level * p`."""

    strength_field: ClassVar[str] = "p"
    p: float
    height: float = 1.0

    def __post_init__(self) -> None:
        if not 0 <= self.p <= 1:
            raise ValueError(f"`p` must be in [0, 1], got {self.p}")

    def perturb(self, array: np.ndarray, step: Step) -> np.ndarray:
        hit = step.draws.uniform(array.shape[1:]) < step.level_for(array) * self.p
        sign = np.sign(step.draws.uniform(array.shape[1:]) - 0.5)
        return array + hit * sign * self.height
