"""A sequential test of paired successes with an end: alpha is spent evenly over a budget of pairs, exactly."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from brittlestar.errors import require
from brittlestar.statistics.arrays import Array

_ROUNDING = 1e-12


def first_crossing(signs: ArrayLike, alpha: float, budget: int) -> NDArray[np.int64]:
    """Returns after which pair the first of two policies is shown to be better; 0 if it is not.

    `signs` are 1 for a pair that only the first solves, -1 for one that only the second solves, and 0 for others; the
    last axis is time. Between equal policies both signs are a fair coin, whichever pairs are not 0. So the chance of
    every number of wins is exact, and after pair t the numbers of wins that count as a decision have a chance of at
    most `alpha t / budget` in all. Over the whole budget, the error is at most alpha.

    Example:
        >>> first_crossing([1, 1, 0, 1, 1, 1, 1], alpha=0.05, budget=10)
        array(7)
    """
    signed = np.asarray(signs, dtype=np.float64)
    pairs = signed.shape[-1]
    require(pairs <= budget, "signs", f"at most {budget} pairs, the budget", pairs)
    runs = signed.reshape(-1, pairs)
    size = int((runs != 0).sum(axis=1).max(initial=0)) + 2
    walk = _FairWalks(len(runs), size)
    result = np.zeros(len(runs), dtype=np.int64)
    for i in range(pairs):
        is_over = walk.step(runs[:, i], alpha * (i + 1) / budget)
        result[(result == 0) & is_over] = i + 1
    return result.reshape(signed.shape[:-1])


class _FairWalks:
    """The chance of every number of wins of walks that have not crossed, beside the wins of real ones."""

    def __init__(self, runs: int, size: int) -> None:
        self._mass: Array = np.zeros((runs, size))
        self._mass[:, 0] = 1.0
        self._spent: Array = np.zeros(runs)
        self._wins = np.zeros(runs, dtype=np.int64)
        self._counts = np.arange(size)

    def step(self, signs: Array, allowance: float) -> NDArray[np.bool_]:
        """Adds a pair to each walk, and returns which of them have enough wins at this pair."""
        is_step = signs != 0
        half = self._mass[is_step] / 2
        half[:, 1:] += half[:, :-1].copy()
        self._mass[is_step] = half
        self._wins += signs > 0
        # The chance of each number of wins or more.
        above = np.cumsum(self._mass[:, ::-1], axis=1)[:, ::-1]
        limits = np.argmax(above <= (allowance - self._spent + _ROUNDING)[:, None], axis=1)
        self._spent += above[np.arange(len(limits)), limits]
        self._mass[self._counts >= limits[:, None]] = 0.0
        return np.asarray(self._wins >= limits)
