"""How exact the crossing of a design is: its standard error, the grid that equals it, and paired differences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from brittlestar.statistics.arrays import Array
from brittlestar.statistics.falling_curve import CrossingFit
from brittlestar.statistics.intervals import Interval
from brittlestar.statistics.trials import Trials

GRID_LEVELS = 11
_PRIOR = np.diag([0.0, 0.1, 44.0, 44.0])
"""Precision of log slope, floor and lapse before any outcome."""
_STEP = 1e-5
_MOST_EPISODES, _FEWEST, _MOST_LEVELS = 1e9, 5, 2000


class Estimate(NamedTuple):
    """A crossing with its interval."""

    value: float
    low: float
    high: float


def crossing_error(fit: CrossingFit, trials: Trials) -> float:
    """Returns the standard error of the crossing that a design has by the likeliest curve (Fisher information)."""
    data = trials.merged()
    return fit.estimate * math.sqrt(_covariance(fit, data.levels, data.counts / data.dispersion)[0, 0])


def grid_episodes(fit: CrossingFit, trials: Trials, width: float) -> int:
    """Returns how many outcomes an even grid needs for the same standard error of the crossing.

    The grid has 11 levels from 0 to twice the crossing, which favours it: its user would have to know the crossing. A
    curve that falls between two of them is found by more levels, one for each `width`; the smaller number counts.
    """
    error, fine = crossing_error(fit, trials), math.ceil(2 * fit.estimate / width) + 1
    counts = sorted({GRID_LEVELS, min(max(fine, GRID_LEVELS), _MOST_LEVELS)})
    return min(count * _episodes_each(fit, count, error * math.sqrt(1 / trials.dispersion)) for count in counts)


def _episodes_each(fit: CrossingFit, count: int, error: float) -> int:
    """Returns the outcomes at each of some levels that give a standard error; at least a few."""
    levels = np.linspace(0, 2 * fit.estimate, count)
    low, high = float(_FEWEST), _MOST_EPISODES
    for _ in range(50):
        middle = math.sqrt(low * high)
        reached = fit.estimate * math.sqrt(_covariance(fit, levels, np.full(count, middle))[0, 0])
        low, high = (low, middle) if reached <= error else (middle, high)
    return math.ceil(high - 1e-6)


def residuals(fit: CrossingFit, levels: ArrayLike, outcomes: Sequence[Array], dispersion: float = 1.0) -> list[Array]:
    """Returns how much every outcome moves the estimate, by the likeliest curve: one array for each cell."""
    x = np.asarray(levels, dtype=np.float64)
    counts = np.array([len(values) for values in outcomes]) / dispersion
    rates, slopes = fit.likeliest(x), _slopes(fit, x)
    moves = slopes @ _covariance(fit, x, counts)[0] / (rates * (1 - rates) * dispersion)
    pairs = zip(outcomes, rates, moves, strict=True)
    return [fit.estimate * move * (np.asarray(values) - rate) for values, rate, move in pairs]


def paired_difference(first: Estimate, second: Estimate, correlation: float) -> Estimate:
    """Returns the difference of two crossings, with its interval from theirs and their correlation (MOVER).

    Example:
        >>> difference = paired_difference(Estimate(0.3, 0.27, 0.33), Estimate(0.2, 0.16, 0.24), correlation=0.0)
        >>> [round(value, 3) for value in difference]
        [0.1, 0.05, 0.15]
    """
    ends = (
        Interval(first.value - first.low, second.high - second.value),
        Interval(first.high - first.value, second.value - second.low),
    )
    halves = [math.sqrt(max(a**2 + b**2 - 2 * correlation * a * b, 0.0)) for a, b in ends]
    value = first.value - second.value
    return Estimate(value, value - halves[0], value + halves[1])


def _covariance(fit: CrossingFit, levels: Array, counts: Array) -> Array:
    rates, slopes = fit.likeliest(levels), _slopes(fit, levels)
    information = slopes.T @ (slopes * (counts / (rates * (1 - rates)))[:, None]) + _PRIOR
    # A design far from the crossing has no information on it: a tiny one keeps the matrix regular.
    return np.asarray(np.linalg.inv(information + np.diag([1e-9, 0, 0, 0])), dtype=np.float64)


def _slopes(fit: CrossingFit, levels: Array) -> Array:
    """Returns derivatives of the likeliest curve by log crossing, log slope, floor and lapse, `(levels, 4)`."""
    columns = [fit.likeliest(levels, place, _STEP) - fit.likeliest(levels, place, -_STEP) for place in range(4)]
    return np.stack(columns, axis=1) / (2 * _STEP)
