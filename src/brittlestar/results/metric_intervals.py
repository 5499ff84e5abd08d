"""Means and intervals of every metric at every strength of a curve."""

from dataclasses import dataclass

import numpy as np

from brittlestar.results.curve import Curve
from brittlestar.results.ranges import cut, range_of
from brittlestar.statistics.arrays import Array, moments
from brittlestar.statistics.intervals import Interval, at_least_wilson, t_half_width, wilson


@dataclass(frozen=True)
class MetricIntervals:
    """Every metric at every strength: arrays `(strengths, metrics)`, and intervals of such arrays."""

    mean: Array
    std: Array
    """Standard deviation over seeds."""
    t: Interval
    """Student t over seeds, or over the episodes of a single seed, cut to the range of the metric."""
    wilson: Interval
    """Wilson's over all episodes, for metrics that an episode has or not; nan for others."""
    interval: Interval
    """What the tables show: `t`, for rates never narrower than `wilson`; for those of a single seed `wilson`."""


def metric_intervals(curve: Curve) -> MetricIntervals:
    """Returns means and intervals of a curve.

    Student's t reflects how seeds differ, but has no width when all seeds agree. Wilson's interval reflects the number
    of episodes, but treats all of them as independent. A single seed does not show how seeds differ.
    """
    n, mean, spread = moments(curve.mean, axis=1)
    single, count = ((curve.episodes > 0).sum(axis=1) == 1)[:, None], curve.count.sum(axis=1)
    error = np.where(single, np.nansum(curve.std, axis=1), spread)
    half = t_half_width(error, np.where(single, count, n))
    ranges = [range_of(name) for name in curve.metrics]
    bottom, top = np.array([span[:2] for span in ranges]).T
    t = cut((bottom, top), mean, mean - half, mean + half)
    is_rate = np.array([span.is_event for span in ranges]) & (count > 0)
    events = np.where(is_rate, np.round(np.nansum(curve.mean * curve.count, axis=1)), 0).clip(0, count)
    count = np.where(is_rate, count, 1)
    low, high = (np.where(single, np.nan, bound) for bound in t)
    widened, over_episodes = at_least_wilson(low, high, events, count), wilson(events, count)
    shown, counted = _where(is_rate, widened, t), _where(is_rate, over_episodes, Interval(np.nan, np.nan))
    return MetricIntervals(mean, spread, t, counted, shown)


def _where(mask: np.ndarray, first: Interval, second: Interval) -> Interval:
    return Interval(*(np.where(mask, *ends) for ends in zip(first, second, strict=True)))
