"""The confidence interval of a rank correlation, honest for few pairs."""

import functools
import math

import numpy as np

from brittlestar.errors import require
from brittlestar.randomness import generator
from brittlestar.statistics.arrays import Array
from brittlestar.statistics.correlations import LEAST_PAIRS
from brittlestar.statistics.intervals import LEVEL, Interval, tail

_SIMULATIONS = 10_000
_MOST_SIMULATED = 40
"""Up to so many pairs the interval is by simulation; beyond, Bonett and Wright's formula agrees with it."""
_GRID = np.concatenate([np.linspace(-1, -0.9, 11)[:-1], np.linspace(-0.9, 0.9, 37), np.linspace(0.9, 1, 11)[1:]])


def spearman_interval(r: float, n: int) -> Interval:
    """Returns the 95 % interval of Spearman's correlation, from its observed value over `n` pairs.

    It contains the correlations under which an observation as high, or as low, has a probability of at least 2.5 %, if
    monotone functions of the two sides are normal. Below 3 pairs it is [-1, 1]; ties make it approximate.

    Example:
        >>> low, high = spearman_interval(1.0, 4)
        >>> round(low, 1), round(high, 1)
        (-0.2, 1.0)
    """
    if n < LEAST_PAIRS or math.isnan(r):
        return Interval(-1.0, 1.0)
    require(-1 <= r <= 1, "r", "in [-1, 1]", r)
    if n > _MOST_SIMULATED:
        half = 1.959964 * math.sqrt((1 + r * r / 2) / (n - 3))
        centre = math.atanh(min(max(r, -1 + 1e-9), 1 - 1e-9))
        return Interval(math.tanh(centre - half), math.tanh(centre + half))
    samples = _samples(n)
    # Sums of rounded ranks differ in the last digits.
    at_least = np.array([1 - np.searchsorted(row, r - 1e-9) / len(row) for row in samples])
    at_most = np.array([np.searchsorted(row, r + 1e-9) / len(row) for row in samples])
    population = 6 / math.pi * np.arcsin(_GRID / 2)
    return Interval(_crossing(population, at_least), -_crossing(-population[::-1], at_most[::-1]))


def _crossing(population: Array, probability: Array) -> float:
    """Returns where a probability that rises with the correlation reaches the tail."""
    rising = np.maximum.accumulate(probability)
    place = int(np.searchsorted(rising, tail(LEVEL)))
    if place == 0:
        return -1.0
    if place == len(rising):
        return 1.0
    share = (tail(LEVEL) - rising[place - 1]) / (rising[place] - rising[place - 1])
    return float(population[place - 1] + share * (population[place] - population[place - 1]))


@functools.lru_cache(maxsize=16)
def _samples(n: int) -> Array:
    """Returns simulated Spearman correlations of `n` normal pairs, sorted, for every correlation of the grid."""
    rng = generator(n, "spearman_interval")
    x, noise = rng.standard_normal((2, _SIMULATIONS, n))
    ranks = x.argsort(axis=1).argsort(axis=1)
    rows = []
    for correlation in _GRID:
        y = correlation * x + math.sqrt(1 - correlation**2) * noise
        squares = ((ranks - y.argsort(axis=1).argsort(axis=1)) ** 2).sum(axis=1)
        rows.append(np.sort(1 - 6 * squares / (n * (n * n - 1))))
    return np.array(rows)
