"""Levels that change from step to step and are the same in every episode."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from brittlestar.errors import Bound, Fraction, NonNegativeInt, PositiveInt, require
from brittlestar.schedules.base import StressSchedule


@dataclass
class Constant(StressSchedule):
    """The same `level` at every step of every episode.

    Example:
        >>> Constant(level=0.5).levels(np.array([0, 1]), np.array([3, 4]))
        array([0.5, 0.5])
    """

    level: Fraction = 1.0

    def levels(self, episodes: np.ndarray, steps: np.ndarray) -> np.ndarray:
        return np.full(len(episodes), self.level)


@dataclass
class Linear(StressSchedule):
    """Grows within each episode: `min(1, start + step / warmup_steps)`.

    Example:
        >>> Linear(warmup_steps=10, start=0.2).levels(np.zeros(3), np.array([0, 5, 50])).tolist()
        [0.2, 0.7, 1.0]
    """

    warmup_steps: PositiveInt
    start: Fraction = 0.0

    def levels(self, episodes: np.ndarray, steps: np.ndarray) -> np.ndarray:
        return np.minimum(1.0, self.start + steps / self.warmup_steps)


@dataclass
class Cosine(StressSchedule):
    """Rises and falls within each episode: `(1 - cos(2 pi step / period_steps)) / 2`.

    Example:
        >>> Cosine(period_steps=20).levels(np.zeros(3), np.array([0, 5, 10])).round(2).tolist()
        [0.0, 0.5, 1.0]
    """

    period_steps: Annotated[int, Bound("at least 2", lambda steps: steps >= 2)]

    def levels(self, episodes: np.ndarray, steps: np.ndarray) -> np.ndarray:
        return (1.0 - np.cos(2.0 * np.pi * steps / self.period_steps)) / 2.0


@dataclass
class StepSchedule(StressSchedule):
    """Level 0 before step `onset_step` of each episode, 1 from that step on.

    Example:
        >>> StepSchedule(onset_step=5).levels(np.zeros(2), np.array([4, 5])).tolist()
        [0.0, 1.0]
    """

    onset_step: NonNegativeInt

    def levels(self, episodes: np.ndarray, steps: np.ndarray) -> np.ndarray:
        return (steps >= self.onset_step).astype(np.float64)


@dataclass
class Bursts(StressSchedule):
    """Level 1 for `duration_steps` from `onset_step` on, repeated every `period_steps` if that is set.

    Example:
        >>> Bursts(onset_step=2, duration_steps=1, period_steps=3).levels(np.zeros(6), np.arange(6)).tolist()
        [0.0, 0.0, 1.0, 0.0, 0.0, 1.0]
    """

    onset_step: NonNegativeInt
    duration_steps: PositiveInt
    period_steps: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        longer = self.period_steps is None or self.period_steps >= self.duration_steps
        require(longer, "period_steps", f"null or at least duration_steps = {self.duration_steps}", self.period_steps)

    def levels(self, episodes: np.ndarray, steps: np.ndarray) -> np.ndarray:
        since = np.asarray(steps) - self.onset_step
        place = since if self.period_steps is None else since % self.period_steps
        return ((since >= 0) & (place < self.duration_steps)).astype(np.float64)
