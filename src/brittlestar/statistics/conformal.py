"""A threshold that unstressed episodes exceed with probability at most alpha, for any distribution of scores."""

import math

import numpy as np

from brittlestar.errors import require


def conformal_threshold(scores: np.ndarray, alpha: float) -> np.ndarray:
    """Returns the score of rank `ceil((n + 1) (1 - alpha))` along the last axis; infinity where n is too small.

    A new episode that is exchangeable with the `n` held-out ones exceeds it with probability at most `alpha`, and, if
    no two scores are equal, at least `alpha - 1 / (n + 1)`. An event is a score strictly above it: ties are no alarms.

    Example:
        >>> float(conformal_threshold(np.arange(99.0), alpha=0.05)), float(conformal_threshold(np.arange(9.0), 0.05))
        (94.0, inf)
    """
    require(0 < alpha < 1, "alpha", "between 0 and 1", alpha)
    scores = np.asarray(scores, dtype=np.float64)
    n = scores.shape[-1]
    rank = conformal_rank(n, alpha)
    if rank > n:
        return np.full(scores.shape[:-1], np.inf)
    return np.partition(scores, rank - 1, axis=-1)[..., rank - 1]


def conformal_rank(n: int, alpha: float) -> int:
    """Returns `ceil((n + 1) (1 - alpha))`, where 200 times 0.95 is 190 and no rounding above it."""
    return math.ceil((n + 1) * (1 - alpha) - 1e-9)
