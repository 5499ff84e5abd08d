"""Intervals of whole curves: how they fall. Few seeds cannot narrow them."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from brittlestar.errors import counted
from brittlestar.randomness import generator
from brittlestar.results.curve import Curve
from brittlestar.results.load import RATES
from brittlestar.results.ranges import NUMBER, Range, cut, range_of
from brittlestar.statistics import curves
from brittlestar.statistics.arrays import moments
from brittlestar.statistics.intervals import percentile_interval, t_stretch
from brittlestar.statistics.resampling import RESAMPLES, cluster_means, plus_four, recentre

THRESHOLD = 0.5
BRACKET = (
    "The interval of a critical strength has levels of the sweep as its ends: up to the lower one, the intervals of "
    "all levels are at the threshold or above it; from the upper one on, all are below it. It assumes that the curve "
    "falls, and nothing about its shape between levels"
)
_BATCH_SIZE = 2**20
"""Numbers that are resampled together: more leave the cache, fewer cost calls."""


@dataclass
class CurveIntervals:
    """Bounds of the cluster bootstrap interval, `(measures, strengths)`, and the intervals of a curve's shape."""

    low: np.ndarray
    high: np.ndarray
    shape: dict[str, np.ndarray]
    """Columns of the summary, one number per measure."""


def curve_intervals(members: Iterable[Curve]) -> Iterator[tuple[Curve, CurveIntervals]]:
    """Yields every curve with its intervals; neighbours over one grid are resampled together, for speed."""
    batch: list[Curve] = []
    size = 0
    for curve in members:
        if batch and (size > _BATCH_SIZE or _grid(curve) != _grid(batch[0])):
            yield from zip(batch, _intervals(batch), strict=True)
            batch, size = [], 0
        batch.append(curve)
        size += curve.scores.size + RESAMPLES * curve.scores[..., 0, 0].size
    if batch:
        yield from zip(batch, _intervals(batch), strict=True)


def threshold_of(curve: Curve) -> float:
    """Returns the value below which a curve counts as broken; a raw return has none, hence nan."""
    return math.nan if curve.measures == ["return"] else THRESHOLD


def interval_method(curve: Curve) -> str:
    """Returns the method behind the intervals of a summary."""
    episodes = curve.episodes.sum(axis=1)
    return shape_method(curve.measures[0], len(curve.seeds), int(episodes.min()), int(episodes.max()))


def point_method(measure: str, seeds: int, episodes: int) -> str:
    """Returns the method behind the interval of a measure at one strength.

    Example:
        >>> point_method("return", 1, 20), point_method("success_any", 1, 20)
        ('t over 20 episodes, 95 %', 'Wilson, n = 20, 95 %')
    """
    if measure not in RATES:
        return f"t over {seeds} seeds, 95 %" if seeds > 1 else f"t over {counted(episodes, 'episode')}, 95 %"
    wilson = f"Wilson, n = {episodes}, 95 %"
    return wilson if seeds == 1 else f"t over {seeds} seeds, at least {wilson}"


def metric_method(seeds: int, episodes: int) -> str:
    """Returns the method behind the intervals of all other metrics at one strength."""
    if seeds > 1:
        return f"t over {seeds} seeds (rates: at least Wilson, n = {episodes}), 95 %"
    return f"t over {counted(episodes, 'episode')} (rates: Wilson), 95 %"


def shape_method(measure: str, seeds: int, fewest: int, most: int) -> str:
    """Returns the method behind the intervals of a curve, whose strengths have `fewest` to `most` episodes."""
    episodes = counted(most, "episode") if fewest == most else f"{fewest} to {most} episodes"
    kind = "plus-four bootstrap" if measure in RATES else "bootstrap"
    over_episodes = f"{kind} over {episodes}, {RESAMPLES} draws, 95 %"
    return f"t-scaled bootstrap over {seeds} seeds, at least {over_episodes}" if seeds > 1 else over_episodes


def _grid(curve: Curve) -> tuple:
    return curve.strengths, curve.measures, curve.scores.shape


def _intervals(batch: list[Curve]) -> Iterator[CurveIntervals]:
    means = cluster_means(np.stack([curve.scores for curve in batch]))
    shape = _shape_columns(batch)
    for i, (low, high) in enumerate(zip(*map(np.asarray, percentile_interval(means)), strict=True)):
        yield CurveIntervals(low, high, {name: values[i] for name, values in shape.items()})


def _shape_columns(batch: list[Curve]) -> dict[str, np.ndarray]:
    """How curves over the same grid fall, `(curves, measures)`, with intervals."""
    levels = np.abs(batch[0].strengths)
    by_seed = np.stack([[curve.of(curve.mean, name) for name in curve.measures] for curve in batch])
    _, means, _ = moments(by_seed, axis=-1)
    rates = batch[0].measures[0] in RATES
    draws = np.full((1, 1, *means.shape), np.nan)
    if len(levels) > 1:
        draws = np.stack([_seed_draws(by_seed, means), _episode_draws(batch, means, rates)], axis=1)
    replicates = _shapes(levels, draws)
    ranges = _shape_ranges(levels, range_of(batch[0].measures[0]))
    columns: dict[str, np.ndarray] = {}
    for name, values in _shapes(levels, means).items():
        interval = percentile_interval(replicates[name])
        bounds = np.fmin.reduce(np.asarray(interval.low)), np.fmax.reduce(np.asarray(interval.high))
        low, high = map(np.asarray, cut(ranges[name], values, *bounds))
        columns |= {name: values, f"{name}_low": low, f"{name}_high": high}
    return columns | {"auc_between": np.asarray(curves.auc_between(levels, means))}


def _shape_ranges(levels: np.ndarray, span: Range) -> dict[str, Range]:
    """Returns the ranges of a curve's shape, from that of its points."""
    width, centred = float(np.ptp(levels)), levels - levels.mean()
    # The steepest line is that of the lowest values on one side of the middle and the highest on the other.
    steepest = (span.high - span.low) * centred.clip(0).sum() / (centred @ centred) if width else math.inf
    ranges = {"slope": Range(-steepest, steepest), "normalised_auc": span}
    return ranges | {"auc": Range(span.low * width, span.high * width) if width else NUMBER}


def _shapes(levels: np.ndarray, rates: np.ndarray) -> dict[str, np.ndarray]:
    shapes = {"slope": np.asarray(curves.slope(levels, rates))}
    for function in (curves.auc, curves.normalised_auc):
        # Each is a weighted sum along the curve: one product for all draws.
        shapes[function.__name__] = rates @ np.asarray(function(levels, np.eye(len(levels))))
    return shapes


def _seed_draws(by_seed: np.ndarray, means: np.ndarray) -> np.ndarray:
    """Draws curves around `means`, `(..., strengths)`, as their seeds spread; one seed gives `means` itself.

    A draw adds the gaps between seeds and mean with normal weights. Student's t scales them, because few seeds show too
    little of their spread. So the percentile interval of a sum along the curve (its area) is its t interval.
    """
    n = (~np.isnan(by_seed)).sum(axis=-1)
    scale = t_stretch(1 / np.sqrt(np.maximum(n - 1, 1)), n)
    gaps = np.nan_to_num((by_seed - means[..., None]) * scale[..., None])
    weights = generator(0, "seeds").standard_normal((RESAMPLES, by_seed.shape[-1]))
    return means + np.tensordot(weights, gaps, (1, -1))


def _episode_draws(batch: list[Curve], means: np.ndarray, rates: bool) -> np.ndarray:
    """Draws curves around `means` as episodes spread: the least spread, since seeds may agree by chance.

    The four pseudo-episodes of rates succeed always, never, at the lower half of the strengths, and at the upper half.
    """
    pooled = np.stack([curve.scores.reshape(*means.shape[1:], -1) for curve in batch])
    if rates:
        falls = (np.arange(means.shape[-1]) < means.shape[-1] / 2).astype(np.float64)
        pooled = plus_four(pooled, np.stack([np.ones_like(falls), np.zeros_like(falls), falls, 1 - falls], axis=-1))
    return recentre(cluster_means(pooled[..., None, :]), pooled, means)
