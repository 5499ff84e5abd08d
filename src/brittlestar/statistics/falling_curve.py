"""Where a falling curve crosses a threshold: the posterior of a local fit with floor, lapse and skewness."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from brittlestar.errors import require
from brittlestar.statistics.arrays import Array
from brittlestar.statistics.intervals import LEVEL, Interval
from brittlestar.statistics.posterior_grid import Parameter, finer_grid, is_fine_grid, marginal
from brittlestar.statistics.trials import Threshold, Trials

SKEWS = (0.0, 0.5, 1.0, 2.0)
"""Exponents of the strength in the logit; 0 is its logarithm."""
_FIRST, _THEN = (33, 15, 3, 3), (25, 9, 5, 5)
_RARE = 1e-4, 2e-3, 0.02, 0.02
_SLOPES = math.log(0.5), math.log(1e4)
_MOST_FLOOR, _SHARPEST = 0.8, 40.0
_TAIL_SCALE = 0.6
_LOCAL_GRIDS, _MOST_GRIDS = 2, 6
_FIRST_OUTCOMES = 200
_FAR = 4.0
"""Outcomes count less from so many times their median distance from the crossing on."""
_STEEP = 0.3
"""Fall of a curve between two neighbouring levels, as a share of its top, of which nothing shows the place."""
_STRICTER = 0.4
"""Share of the errors that the posterior makes of those allowed: it ends when it is narrow, and shapes differ."""


@dataclass(frozen=True)
class CrossingFit:
    """The posterior of the crossing, and curves that it is made of."""

    threshold: Threshold
    crossings: Array
    """Grid of crossings, and with `masses` their probabilities."""
    masses: Array
    curves: tuple[Array, ...]
    """Log crossing, log slope, floor and lapse as shares, and skewness of the likely curves."""
    weights: Array

    @property
    def estimate(self) -> float:
        """The median."""
        return self.quantile(0.5)

    def quantile(self, share: float) -> float:
        """Returns a quantile of the crossing."""
        ends = np.cumsum(self.masses) - self.masses / 2
        return float(np.exp(np.interp(share, ends, np.log(self.crossings))))

    def ends(self, level: float = LEVEL) -> tuple[float, float]:
        """Returns the quantiles that an interval of this level starts from."""
        tail = _STRICTER * (1 - level) / 2
        return self.quantile(tail), self.quantile(1 - tail)

    def interval(self, levels: ArrayLike, level: float = LEVEL) -> Interval:
        """Returns the interval of the crossing.

        No outcome distinguishes crossings between two neighbouring levels, but the shape of the fit may. So an interval
        without a level inside it is widened to both of its neighbours, and an end in a gap where the curve falls
        steeply to the outer end of the gap.
        """
        low, high = self.ends(level)
        x = np.unique(np.concatenate([[0.0], np.ravel(levels), [np.inf]]))
        first, last = int(np.searchsorted(x, low, "right")) - 1, int(np.searchsorted(x, high)) - 1
        values = self.mean(x)
        steep = (values[:-1] - values[1:] > _STEEP * values[0]) | (first == last)
        return Interval(float(x[first]) if steep[first] else low, float(x[last + 1]) if steep[last] else high)

    def mean(self, levels: ArrayLike) -> Array:
        """Returns the mean curve at some levels."""
        x = np.asarray(levels, dtype=np.float64)
        return self.weights @ _values(_logs(x), self.curves, self.threshold)

    def band(self, levels: ArrayLike, level: float = LEVEL) -> Interval:
        """Returns pointwise bounds of the curve at some levels."""
        values = _values(_logs(np.asarray(levels, dtype=np.float64)), self.curves, self.threshold)
        bounds = [_weighted_quantile(values, self.weights, share) for share in ((1 - level) / 2, (1 + level) / 2)]
        return Interval(*bounds)

    def likeliest(self, levels: ArrayLike, place: int = 0, step: float = 0.0) -> Array:
        """Returns the likeliest curve at some levels, with one of its parameters moved by a step."""
        best = int(np.argmax(self.weights))
        curve = [values[best : best + 1] + step * (i == place) for i, values in enumerate(self.curves)]
        values = _values(_logs(np.asarray(levels, dtype=np.float64)), tuple(curve), self.threshold)
        return np.clip(values[0], 1e-6, 1 - 1e-6)

    @property
    def typical(self) -> tuple[float, ...]:
        """The posterior means of the parameters, skewness included."""
        return tuple(float(self.weights @ values) for values in self.curves)


def fit_crossing(trials: Trials, threshold: Threshold, bounds: tuple[float, float]) -> CrossingFit:
    """Fits falling curves to outcomes, and returns the posterior of where they cross the threshold.

    A curve is `floor + (top - floor) / (1 + e(x) / odds)`, with `e(x) = exp(slope * h(x / crossing))` and `h` of
    `SKEWS`, so that it crosses the threshold at `crossing`. Prior: uniform in the logarithms of crossing and slope,
    falling in floor and lapse. Outcomes between 0 and 1 count as parts of a success (quasi-likelihood).

    Args:
        trials: the outcomes.
        threshold: the value that is crossed.
        bounds: lowest and highest crossing, above 0.

    Example:
        >>> trials = Trials.of([0, 0.05, 0.1, 0.2], [40, 38, 19, 1], [40, 40, 40, 40])
        >>> round(fit_crossing(trials, Threshold(0.5), (0.01, 0.4)).estimate, 2)
        0.1
    """
    require(0 < bounds[0] < bounds[1], "bounds", "two rising numbers above 0", bounds)
    require(0 < threshold.value < 1, "threshold", "between 0 and 1", threshold.value)
    data, lapse = trials.merged(), 1 - threshold.value if not threshold.relative else 1.0
    ends = [(math.log(bounds[0]), math.log(bounds[1])), _SLOPES, (0.0, _MOST_FLOOR), (0.0, _MOST_FLOOR * lapse)]
    parameters = [Parameter(*end, count, rare) for end, count, rare in zip(ends, _THEN, _RARE, strict=True)]
    axes = [np.linspace(*end, count) for end, count in zip(ends, _FIRST, strict=True)]
    axes[0] = _with_gaps(axes[0], data.levels)
    # Many outcomes make a peak that a coarse grid misses: they count little on the first grids.
    share = min(1.0, _FIRST_OUTCOMES * trials.dispersion / max(trials.total, 1))
    while share < 1:
        axes = finer_grid(axes, _posterior(axes, data, threshold, share), parameters)
        share = min(1.0, 4 * share)
    posterior = _posterior(axes, data, threshold)
    for number in range(_MOST_GRIDS):
        if number < _LOCAL_GRIDS:
            data = _local(trials.merged(), _fit(axes, posterior, threshold).estimate, threshold)
        axes = finer_grid(axes, posterior, parameters)
        posterior = _posterior(axes, data, threshold)
        if number >= _LOCAL_GRIDS - 1 and is_fine_grid(axes, posterior, parameters):
            break
    return _fit(axes, posterior, threshold)


def _local(data: Trials, crossing: float, threshold: Threshold) -> Trials:
    """Returns trials in which outcomes far from the crossing count less, by the square of their distance.

    The fit has no bumps, so outcomes on one bend it. Far is several times the median distance of all outcomes, which
    come closer to the crossing as a search goes on.
    """
    distances = np.maximum(np.abs(data.levels / crossing - 1), 1e-9)
    order = np.argsort(distances)
    middle = int(np.searchsorted(np.cumsum(data.counts[order]), data.counts.sum() / 2))
    weights = np.minimum(1.0, (_FAR * distances[order[middle]] / distances) ** 2)
    if threshold.relative:
        # The threshold is a share of the value at level 0.
        weights[data.levels == 0] = 1.0
    return Trials(data.levels, weights * data.sums, weights * data.counts, data.dispersion)


def _with_gaps(axis: Array, levels: Array) -> Array:
    """Adds crossings between neighbouring levels to a grid: a cliff may be in any gap, however narrow."""
    logs = np.log(levels[levels > 0])
    inside = (logs[:-1] + logs[1:]) / 2
    return np.unique(np.concatenate([axis, inside[(inside > axis[0]) & (inside < axis[-1])]]))


def _fit(axes: list[Array], posterior: Array, threshold: Threshold) -> CrossingFit:
    likely = np.nonzero(posterior > 1e-3 * posterior.max())
    curves = tuple(axis[places] for axis, places in zip([*axes, np.array(SKEWS)], likely, strict=True))
    weights = posterior[likely] / posterior[likely].sum()
    return CrossingFit(threshold, np.exp(axes[0]), marginal(posterior, 0), curves, weights)


def _posterior(axes: list[Array], data: Trials, threshold: Threshold, share: float = 1.0) -> Array:
    """Returns probabilities on the grid: crossing, slope, floor, lapse, skewness; `share` weighs the outcomes."""
    log_levels, slopes = _logs(data.levels), np.exp(axes[1])[:, None]
    weight = share / data.dispersion
    hits, misses = weight * data.sums, weight * (data.counts - data.sums)
    logs = np.empty((*(len(axis) for axis in axes), len(SKEWS)))
    for k, skew in enumerate(SKEWS):
        growth = _growth(log_levels - axes[0][:, None, None], slopes, skew, threshold)
        for i, floor in enumerate(axes[2]):
            for j, lapse in enumerate(axes[3]):
                rates = np.clip(_rates(growth, floor, lapse, threshold), 1e-9, 1 - 1e-9)
                logs[:, :, i, j, k] = np.log(rates) @ hits + np.log1p(-rates) @ misses
    logs -= (axes[2][:, None, None] + axes[3][:, None]) / _TAIL_SCALE
    logs += np.log(np.gradient(axes[0]))[:, None, None, None, None]
    masses = np.exp(logs - logs.max())
    return masses / masses.sum()


def _values(log_levels: Array, curves: tuple[Array, ...], threshold: Threshold) -> Array:
    """Returns the values of curves, `(curves, levels)`."""
    log_crossing, log_slope, floor, lapse, skews = (values[:, None] for values in curves)
    distances, slopes = log_levels - log_crossing, np.exp(log_slope)
    values = np.empty(distances.shape)
    for skew in SKEWS:
        rows = skews[:, 0] == skew
        growth = _growth(distances[rows], slopes[rows], skew, threshold)
        values[rows] = _rates(growth, floor[rows], lapse[rows], threshold)
    return values


def _growth(distances: Array, slopes: Array, skew: float, threshold: Threshold) -> Array:
    """Returns `e(x)` from log distances to the crossing: 1 at the crossing, and small at level 0.

    It is exactly 0 there for a relative threshold, which is a share of the value at level 0.
    """
    if skew == 0:
        return np.exp(np.clip(slopes * distances, -_SHARPEST, _SHARPEST))
    bent = np.expm1(np.minimum(skew * distances, _SHARPEST)) / skew
    growth = np.exp(np.clip(slopes * bent, -_SHARPEST, _SHARPEST))
    if not threshold.relative:
        return growth
    start = np.exp(np.maximum(-slopes / skew, -_SHARPEST))
    return (growth - start) / (1 - start)


def _rates(growth: Array, floor: ArrayLike, lapse: ArrayLike, threshold: Threshold) -> Array:
    """Returns the values of curves; `floor` is a share of the threshold."""
    top = 1 - np.asarray(lapse, dtype=np.float64)
    goal = threshold.of(top)
    bottom = np.asarray(floor, dtype=np.float64) * goal
    odds = (goal - bottom) / (top - goal)
    return bottom + (top - bottom) / (1 + np.maximum(growth, 0) / odds)


def _logs(levels: Array) -> Array:
    return np.log(np.maximum(levels, 1e-300))


def _weighted_quantile(values: Array, weights: Array, share: float) -> Array:
    order = np.argsort(values, axis=0)
    sums = np.cumsum(weights[order], axis=0)
    places = np.argmax(sums >= share, axis=0)
    return np.take_along_axis(np.take_along_axis(values, order, axis=0), places[None], axis=0)[0]
