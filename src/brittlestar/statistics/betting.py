"""E-processes and anytime-valid intervals of the mean of bounded numbers, by betting against each candidate mean."""

import functools
import math

import numpy as np
from numpy.typing import ArrayLike

from brittlestar.errors import require
from brittlestar.statistics.arrays import Array
from brittlestar.statistics.intervals import Interval

NODES = 128
"""Bets of the mixture. Any number of them is valid; more of them resolve smaller differences."""
_HALVINGS = 40


@functools.cache
def bets() -> Array:
    """Returns the shares of the wealth at stake, all with the same weight: Beta(1/2, 1/2) on (-1, 1), folded to (0, 1).

    On numbers that are -1 or 1, the mixture of all shares is that over the win share, truncated at one half.
    """
    return np.cos(np.pi * (2 * np.arange(1, NODES + 1) - 1) / (4 * NODES))


def log_e_values(values: ArrayLike, mean: float = 0.0) -> Array:
    """Returns the log of the e-process against a mean of at most `mean`, after each of the values in [-1, 1].

    The wealth of a bet is `prod(1 + bet (x - mean) / (1 + mean))`, the e-value the average wealth of all bets. If the
    mean of each value, given those before, is at most `mean`, then the e-process ever exceeds `1 / alpha` with a
    probability of at most `alpha`. The last axis is time.

    Example:
        >>> round(float(np.exp(log_e_values([1, 1, 0, 1, 1, 1, 1])[-1])), 1)
        28.8
    """
    x = _checked(values)
    gains = (x - mean) / (1 + mean)
    wealth, result = np.zeros((*x.shape[:-1], NODES)), np.empty_like(x)
    for i in range(x.shape[-1]):
        wealth += np.log1p(bets() * gains[..., i, None])
        result[..., i] = _log_average(wealth)
    return result


def lower_bound(values: ArrayLike, alpha: float) -> float:
    """Returns a bound below the mean of values in [-1, 1], which holds at all times together with 1 - alpha.

    It is the greatest mean that `log_e_values` refutes, and falls with alpha.

    Example:
        >>> round(lower_bound([1, 1, 0, 1, 1, 1, 1], alpha=0.05), 3)
        0.06
    """
    require(0 < alpha < 1, "alpha", "above 0 and below 1", alpha)
    x, counts = np.unique(_checked(values), return_counts=True)
    low, high = 0.0, 1.0
    # In shares of the range, (1 + mean) / 2: wealth falls as this candidate rises.
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        factors = np.log1p(bets()[:, None] * ((1 + x) / (2 * middle) - 1))
        is_refuted = float(_log_average(factors @ counts)) >= -math.log(alpha)
        low, high = (middle, high) if is_refuted else (low, middle)
    return 2 * low - 1


def betting_interval(values: ArrayLike, alpha: tuple[float, float] = (0.025, 0.025)) -> Interval:
    """Returns the anytime-valid interval of the mean of values in [-1, 1]; `alpha` has an error for each bound.

    Example:
        >>> np.round(betting_interval(np.tile([0.2, 0.4], 50)), 2).tolist()
        [0.24, 0.34]
    """
    x = _checked(values)
    return Interval(lower_bound(x, alpha[0]), -lower_bound(-x, alpha[1]))


def growth(values: ArrayLike) -> float:
    """Returns how fast the best single bet against a mean of at most 0 gains, in nats per value; at least 0."""
    x, counts = np.unique(_checked(values), return_counts=True)
    return max(0.0, float(np.max(np.log1p(bets()[:, None] * x) @ counts)) / max(1, int(counts.sum())))


def _checked(values: ArrayLike) -> Array:
    x = np.asarray(values, dtype=np.float64)
    require(np.abs(x) <= 1, "values", "between -1 and 1", values)
    return x


def _log_average(logs: Array) -> Array:
    top = logs.max(axis=-1)
    return np.asarray(top + np.log(np.exp(logs - top[..., None]).mean(axis=-1)))
