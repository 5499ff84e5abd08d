"""A check that a curve which should fall does not rise."""

import math
from typing import NamedTuple

import numpy as np

from brittlestar.statistics.arrays import Array, special
from brittlestar.statistics.trials import Trials

_TOGETHER = 1.1
"""Ratio of levels up to which their outcomes are compared as one group."""
RISE_LEVEL = 0.01
"""False-alarm rate of the check."""
_DRAWS = 1999
_OPTIMISM = 3.0
"""The falling fit follows the outcomes, so that its draws rise less than those of a flat one. p values are times 3."""


class Rise(NamedTuple):
    """Two ranges of levels with more success in the second, and the p value of the rise."""

    first: tuple[float, float]
    second: tuple[float, float]
    p_value: float


def find_rise(trials: Trials, random: np.random.Generator, level: float = RISE_LEVEL) -> Rise | None:
    """Returns the surest rise of a curve that should fall; None if there is none at this false-alarm rate.

    Levels that differ by at most a tenth are one group. The likelihood ratio of the rates of all groups against the
    best falling curve is compared with that of outcomes drawn from this curve.

    Example:
        >>> trials = Trials.of([0, 0.1, 0.2, 0.3], [50, 5, 40, 0], [50, 50, 50, 50])
        >>> rise = find_rise(trials, np.random.default_rng(0))
        >>> rise.first, rise.second
        ((0.1, 0.1), (0.2, 0.2))
    """
    data = trials.merged()
    groups = _groups(data.levels)
    totals = np.array([data.counts[group].sum() for group in groups])
    rates = np.array([data.sums[group].sum() for group in groups]) / totals
    # Outcomes that vary less than successes count as more of them.
    counts = np.maximum(np.rint(totals / trials.dispersion), 1)
    if (np.diff(rates) <= 0).all():
        return None
    p_value = _p_of_rise(rates, counts, random)
    if p_value >= level:
        return None
    first, second = ((float(data.levels[g[0]]), float(data.levels[g[-1]])) for g in _surest(groups, rates, counts))
    return Rise(first, second, p_value)


def falling_fit(rates: Array, counts: Array) -> Array:
    """Returns the best falling curve through rates `(..., groups)`: pooled neighbours where they rise.

    Example:
        >>> falling_fit(np.array([0.9, 0.2, 0.4, 0.1]), np.array([10, 10, 10, 10])).round(2).tolist()
        [0.9, 0.3, 0.3, 0.1]
    """
    fit = np.full(rates.shape, np.inf)
    for start in range(len(counts)):
        totals = np.cumsum(rates[..., start:] * counts[start:], axis=-1) / np.cumsum(counts[start:])
        highest = np.maximum.accumulate(totals[..., ::-1], axis=-1)[..., ::-1]
        fit[..., start:] = np.minimum(fit[..., start:], highest)
    return np.clip(fit, 0, 1)


def _groups(levels: Array) -> list[list[int]]:
    """Returns the places of the levels of each group."""
    groups: list[list[int]] = []
    for place, level in enumerate(levels):
        if groups and level <= _TOGETHER * levels[groups[-1][0]]:
            groups[-1].append(place)
        else:
            groups.append([place])
    return groups


def _p_of_rise(rates: Array, counts: Array, random: np.random.Generator) -> float:
    """Returns how often outcomes of the falling fit are as far from any falling curve, corrected for its optimism."""
    draws = random.binomial(counts.astype(int), falling_fit(rates, counts), size=(_DRAWS, len(counts))) / counts
    farther = _misfit(draws, counts) >= _misfit(rates, counts) - 1e-9
    return min(1.0, _OPTIMISM * (1 + int(farther.sum())) / (_DRAWS + 1))


def _misfit(rates: Array, counts: Array) -> Array:
    """Returns the log likelihood ratio of rates against the best falling curve."""
    fit, functions = falling_fit(rates, counts), special()
    gains = [
        functions.xlogy(own, own) - functions.xlogy(own, other) for own, other in ((rates, fit), (1 - rates, 1 - fit))
    ]
    return np.asarray((counts * (gains[0] + gains[1])).sum(axis=-1))


def _surest(groups: list[list[int]], rates: Array, counts: Array) -> tuple[list[int], list[int]]:
    """Returns the two groups whose rise is the largest, in standard errors."""

    def rise(pair: tuple[int, int]) -> float:
        own, rate = counts[list(pair)], rates[list(pair)]
        pooled = (rate @ own + 0.5) / (own.sum() + 1)
        return float((rate[1] - rate[0]) / math.sqrt(pooled * (1 - pooled) * (1 / own).sum()))

    first, second = max(((i, j) for j in range(len(groups)) for i in range(j)), key=rise)
    return groups[first], groups[second]
