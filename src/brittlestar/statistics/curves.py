"""A curve in one number: where it breaks, how fast it falls, how much is left. Arrays in, numbers out."""

import numpy as np
from numpy.typing import ArrayLike

from brittlestar.errors import require
from brittlestar.statistics.arrays import Array, Values, as_number
from brittlestar.statistics.intervals import Interval


def critical_level(levels: ArrayLike, rates: ArrayLike, threshold: float = 0.5) -> Values:
    """First level whose rate is below `threshold`, else nan; rates have shape (..., levels).

    Put inf for nan before `percentile_interval`: a replicate that never breaks lies beyond all levels.

    Example:
        >>> critical_level([0, 0.05, 0.1], [1, 0.8, 0.4])
        0.1
    """
    x, y = _curve(levels, rates)
    below = y < threshold
    return as_number(np.where(below.any(axis=-1), x[below.argmax(axis=-1)], np.nan))


def critical_level_interpolated(levels: ArrayLike, rates: ArrayLike, threshold: float = 0.5) -> Values:
    """Where straight lines between the points first cross `threshold`; the first level if below there.

    Example:
        >>> round(critical_level_interpolated([0, 0.05, 0.1], [1, 0.8, 0.4]), 4)
        0.0875
    """
    x, y = _curve(levels, rates)
    below = y < threshold
    after = below.argmax(axis=-1)
    before = np.maximum(after - 1, 0)
    y0, y1 = (np.take_along_axis(y, i[..., None], axis=-1)[..., 0] for i in (before, after))
    share = np.where(after > 0, y0 - threshold, 0.0) / np.where(after > 0, y0 - y1, 1.0)
    return as_number(np.where(below.any(axis=-1), x[before] + share * (x[after] - x[before]), np.nan))


def crossing_bracket(levels: ArrayLike, low: ArrayLike, high: ArrayLike, threshold: float = 0.5) -> Interval:
    """Levels between which a falling curve crosses `threshold`, from the intervals of its rates, (..., levels).

    The lower end is the last level up to which all intervals are at the threshold or above it, 0 if there is none. The
    upper end is the first level from which on all of them are below it, `inf` if there is none. Nothing is assumed
    about the shape between two levels. Each end is wrong at most as often as one end of a single interval, however many
    levels there are: the levels are tested in a fixed order, and the first that fails ends the test.

    Example:
        >>> crossing_bracket([0, 0.05, 0.1, 0.2], [0.9, 0.6, 0.4, 0.0], [1, 0.8, 0.6, 0.1])
        Interval(low=0.05, high=0.2)
    """
    x, bottom = _curve(levels, low)
    top = _curve(levels, high)[1]
    held = np.logical_and.accumulate(bottom >= threshold, axis=-1).sum(axis=-1)
    broken = np.logical_and.accumulate((top < threshold)[..., ::-1], axis=-1).sum(axis=-1)
    last_held = np.where(held > 0, x[held - 1], 0.0)
    first_broken = np.where(broken > 0, x[np.minimum(x.size - broken, x.size - 1)], np.inf)
    return Interval(as_number(last_held), as_number(first_broken))


def slope(levels: ArrayLike, rates: ArrayLike) -> Values:
    """Least-squares slope of rates, shape (..., levels), on levels; nan for one level.

    Example:
        >>> round(slope([0, 0.05, 0.1], [1, 0.8, 0.4]), 4), slope([0, 0.05, 0.1], [0.7, 0.7, 0.7])
        (-6.0, 0.0)
    """
    x, y = _curve(levels, rates)
    centred = x - x.mean()
    # From the first level on: a flat curve has no slope at all, not one of rounding errors.
    return as_number((y - y[..., :1]) @ centred / (centred @ centred if x.size > 1 else np.nan))


def auc(levels: ArrayLike, rates: ArrayLike) -> Values:
    """Area under rates, shape (..., levels), by the trapezoid rule; nan for one level.

    Example:
        >>> round(auc([0, 0.05, 0.1], [1, 0.8, 0.4]), 4)
        0.075
    """
    x, y = _curve(levels, rates)
    return as_number(np.trapezoid(y, x, axis=-1) + (0.0 if x.size > 1 else np.nan))


def auc_between(levels: ArrayLike, rates: ArrayLike) -> Values:
    """How far the area under a falling curve through the points can be from `auc`; nan for one level.

    Between two levels, such a curve has any values between their rates.

    Example:
        >>> round(auc_between([0, 0.05, 0.1], [1, 0.8, 0.4]), 4)
        0.015
    """
    x, y = _curve(levels, rates)
    return as_number(np.abs(np.diff(y)) @ np.diff(x) / 2 + (0.0 if x.size > 1 else np.nan))


def normalised_auc(levels: ArrayLike, rates: ArrayLike) -> Values:
    """`auc` divided by the range of levels: the mean rate along the curve, between 0 and 1."""
    x, y = _curve(levels, rates)
    return auc(x, y) / (float(np.ptp(x)) or np.nan)


def _curve(levels: ArrayLike, rates: ArrayLike) -> tuple[Array, Array]:
    x, y = np.asarray(levels, dtype=np.float64), np.asarray(rates, dtype=np.float64)
    require(x.ndim == 1 and x.size, "levels", "a list of numbers", x.shape)
    require(y.shape[-1:] == x.shape, "rates", f"of shape (..., {x.size})", y.shape)
    order = np.argsort(x)
    require(np.diff(x[order]) > 0, "levels", "distinct numbers", x.tolist())
    return x[order], y[..., order]
