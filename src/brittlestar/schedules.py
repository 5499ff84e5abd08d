"""When stress acts: (episode, step) to a level in [0, 1] and a phase."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from brittlestar.errors import require


@dataclass
class StressSchedule:
    """Full stress at every step of every episode, in one phase."""

    def levels(self, episodes: np.ndarray, steps: np.ndarray) -> np.ndarray:
        """Returns the level of each lane, in [0, 1]; it multiplies the perturbation's strength."""
        return np.ones(len(episodes))

    def phase(self, episode: int) -> str:
        """Returns the name of the phase that an episode belongs to."""
        return "all"


@dataclass
class Constant(StressSchedule):
    """The same `level` at every step of every episode.

    Example:
        >>> Constant(level=0.5).levels(np.array([0, 1]), np.array([3, 4]))
        array([0.5, 0.5])
    """

    level: float = 1.0

    def __post_init__(self) -> None:
        require(0 <= self.level <= 1, "level", "in [0, 1]", self.level)

    def levels(self, episodes: np.ndarray, steps: np.ndarray) -> np.ndarray:
        """Returns `level` for each lane."""
        return np.full(len(episodes), self.level)
