"""A sensor that loses gain as it warms up: a noise model that brittlestar finds by an entry point."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from brittlestar import ObservationPerturbation, Step


@dataclass
class WarmingObservation(ObservationPerturbation):
    """Multiplies every observed number by `1 - level * loss * (1 - exp(-step / warmup_steps))`."""

    strength_field: ClassVar[str] = "loss"  # the x axis; 0 must change nothing
    loss: float
    warmup_steps: float = 20.0

    def __post_init__(self) -> None:
        if not 0 <= self.loss <= 1:
            raise ValueError(f"`loss` must be in [0, 1], got {self.loss}")

    def perturb(self, array: np.ndarray, step: Step) -> np.ndarray:
        warm = 1 - np.exp(-step.draws.steps / self.warmup_steps)  # one number per lane
        return array * (1 - step.of(self, "loss", array) * warm[:, None])
