"""Confidence intervals of rates, means and differences."""

import math
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from brittlestar.errors import require
from brittlestar.statistics.arrays import Array, Values, as_number, special, without_nan

LEVEL = 0.95
"""The confidence level of every table."""


class Interval(NamedTuple):
    """The bounds of a confidence interval, or of several."""

    low: Values
    high: Values


def wilson(successes: ArrayLike, n: ArrayLike, level: float = LEVEL) -> Interval:
    """Wilson score interval of a success rate; counts may be arrays.

    It covers the true rate with `level` on average over rates, and less often near 0 and 1.

    Example:
        >>> np.round(wilson(8, 10), 3).tolist()
        [0.49, 0.943]
    """
    k, total = check_counts(successes, n)
    z = -special().ndtri(tail(level))
    centre = (k + z**2 / 2) / (total + z**2)
    half = z / (total + z**2) * np.sqrt(k * (total - k) / total + z**2 / 4)
    # Rounding must not push the bound off 0 or 1.
    low, high = np.where(k == 0, 0.0, centre - half), np.where(k == total, 1.0, centre + half)
    return Interval(as_number(low), as_number(high))


def at_least_wilson(low: ArrayLike, high: ArrayLike, successes: ArrayLike, n: ArrayLike) -> Interval:
    """Widens an interval of a success rate over seeds to Wilson's over episodes; seeds may agree by chance.

    nan bounds give Wilson's, and the rate remains within 0 and 1.
    """
    episodes = wilson(successes, n)
    bounds = np.fmin(low, episodes.low), np.fmax(high, episodes.high)
    return Interval(*(as_number(np.clip(bound, 0, 1)) for bound in bounds))


def t_interval(values: ArrayLike, level: float = LEVEL) -> Interval:
    """Student t interval of the mean of seed means, with n - 1 degrees of freedom; nan is left out.

    The bounds of a single seed are nan, because it does not show how seeds differ. Seeds with equal means (say, 100 %)
    give zero width: use `wilson` over episodes there.

    Example:
        >>> np.round(t_interval([0.7, 0.8, 0.9]), 3).tolist(), t_interval([0.8]).low
        ([0.552, 1.048], nan)
    """
    present = without_nan(values)
    if present.size < 2:
        return Interval(math.nan, math.nan)
    mean, half = present.mean(), float(t_half_width(present.std(ddof=1), present.size, level))
    return Interval(float(mean - half), float(mean + half))


def t_half_width(std: ArrayLike, n: ArrayLike, level: float = LEVEL) -> Array:
    """Half widths of Student t intervals from standard deviations and counts; nan where `n` is below 2."""
    spread, count = np.asarray(std, dtype=np.float64), np.asarray(n, dtype=np.float64)
    many = count > 1
    quantile = -special().stdtrit(np.where(many, count - 1, 1), tail(level))
    return np.where(many, quantile * spread / np.sqrt(np.maximum(count, 1)), np.nan)


def t_stretch(std: ArrayLike, n: ArrayLike) -> Array:
    """Standard deviation of normal replicates whose percentile interval is Student's, as wide as `t_half_width`."""
    return t_half_width(std, n) / normal_quantile(LEVEL)


def welch_half_width(variances: ArrayLike, counts: ArrayLike, level: float = LEVEL) -> float:
    """Half width of Welch's t interval of the difference of two means, or of the t interval of one."""
    n = np.asarray(counts)
    errors = np.asarray(variances, dtype=np.float64) / n
    freedom = errors.sum() ** 2 / (errors**2 / np.maximum(n - 1, 1)).sum() if errors.any() else 1.0
    return float(t_half_width(np.sqrt(errors.sum() * (freedom + 1)), freedom + 1, level))


def percentile_interval(replicates: ArrayLike, level: float = LEVEL) -> Interval:
    """Cuts (1 - level) / 2 off both ends of replicates of shape (resamples, ...).

    Bounds are replicates, never interpolated, so infinite ones are valid; nan is left out.

    Example:
        >>> percentile_interval(np.arange(100), level=0.9).low
        5.0
    """
    ordered = np.sort(np.asarray(replicates, dtype=np.float64), axis=0)  # nan goes last
    require(ordered.size, "replicates", "at least 1 number", ordered.size)
    present = np.sum(~np.isnan(ordered), axis=0, keepdims=True)
    cut = np.floor(tail(level) * present + 1e-9).astype(np.int64)
    bounds = (np.take_along_axis(ordered, index, axis=0)[0] for index in (cut, present - 1 - cut))
    return Interval(*map(as_number, bounds))


def normal_quantile(level: float) -> float:
    """Half width of the interval that holds a share `level` of a standard normal distribution."""
    return NormalDist().inv_cdf((1 + level) / 2)


def tail(level: float) -> float:
    """Share of a distribution below an interval of confidence `level`."""
    require(0 < level < 1, "level", "above 0 and below 1", level)
    return (1 - level) / 2


def check_counts(successes: ArrayLike, n: ArrayLike, suffix: str = "") -> tuple[Array, Array]:
    """Returns counts of successes and episodes as arrays; raises a `ValueError` for other numbers."""
    k, total = np.broadcast_arrays(np.asarray(successes, dtype=np.float64), np.asarray(n, dtype=np.float64))
    require(total >= 1, f"n{suffix}", "at least 1", n)
    require((k >= 0) & (k <= total), f"successes{suffix}", f"between 0 and `n{suffix}`", successes)
    for name, value in (("successes", k), ("n", total)):
        require(value == np.round(value), f"{name}{suffix}", "a whole number", value)
    return k, total
