"""The return per episode that a policy's author measured."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class RecordedReturn:
    """Mean, standard deviation and number of measured returns; a bare mean counts as one episode."""

    mean: float
    std: float = 0.0
    episodes: int = 1

    @classmethod
    def of(cls, returns: np.ndarray) -> RecordedReturn:
        """Summarises measured returns.

        Example:
            >>> RecordedReturn.of(np.array([1.0, 2.0, 3.0]))
            RecordedReturn(mean=2.0, std=1.0, episodes=3)
        """
        values = np.asarray(returns, dtype=np.float64).ravel()
        return cls(float(values.mean()), float(values.std(ddof=1)) if len(values) > 1 else 0.0, len(values))
