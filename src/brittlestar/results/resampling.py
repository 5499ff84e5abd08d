"""Resamples whole curves: where they break and how they fall, with intervals that few seeds cannot narrow."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from brittlestar.randomness import generator
from brittlestar.results.load import RATES, Curve, moments
from brittlestar.statistics import curves, stats

RESAMPLES = 2000
LEVEL = 0.95
THRESHOLD = 0.5
_BATCH_SIZE = 2**20
"""Numbers that are resampled together: more leave the cache, fewer cost calls."""
_MOST_DRAWN = 4000
"""Episodes that are drawn one by one; the draws, 64 MB, are kept for the next curve."""


@dataclass
class Drawn:
    """What resampling says about one curve.

    Attributes:
        low: lower bound of the cluster bootstrap interval, `(measures, strengths)`.
        high: upper bound.
        shape: columns of the summary, one number per measure.
    """

    low: np.ndarray
    high: np.ndarray
    shape: dict[str, np.ndarray]


def resample(found: Iterable[Curve]) -> Iterator[tuple[Curve, Drawn]]:
    """Yields every curve with what resampling says about it; neighbours over one grid go together, for speed."""
    batch: list[Curve] = []
    size = 0
    for curve in found:
        if batch and (size > _BATCH_SIZE or _grid(curve) != _grid(batch[0])):
            yield from zip(batch, _draw(batch), strict=True)
            batch, size = [], 0
        batch.append(curve)
        size += curve.scores.size + RESAMPLES * curve.scores[..., 0, 0].size
    if batch:
        yield from zip(batch, _draw(batch), strict=True)


def threshold_of(curve: Curve) -> float:
    """Returns where a curve counts as broken; a raw return has no natural middle."""
    return float("nan") if curve.measures == ["return"] else THRESHOLD


def shape_method(curve: Curve) -> str:
    """Returns what the intervals of a summary stand on."""
    few, many = curve.episodes.sum(axis=1).min(), curve.episodes.sum(axis=1).max()
    episodes = f"{few} episodes" if few == many else f"{few} to {many} episodes"
    kind = "plus-four bootstrap" if curve.measures[0] in RATES else "bootstrap"
    over_episodes = f"{kind} over {episodes}, {RESAMPLES} draws, 95 %"
    seeds = len(curve.seeds)
    return f"t-scaled bootstrap over {seeds} seeds, at least {over_episodes}" if seeds > 1 else over_episodes


def _grid(curve: Curve) -> tuple:
    return curve.strengths, curve.measures, curve.scores.shape


def _draw(batch: list[Curve]) -> Iterator[Drawn]:
    means = _bootstrap_means(np.stack([curve.scores for curve in batch]))
    interval = stats.percentile_interval(means, "cluster bootstrap", len(batch[0].seeds), LEVEL)
    shape = _shape_columns(batch)
    for i, (low, high) in enumerate(zip(np.asarray(interval.low), np.asarray(interval.high), strict=True)):
        yield Drawn(low, high, {name: values[i] for name, values in shape.items()})


def _shape_columns(batch: list[Curve]) -> dict[str, np.ndarray]:
    """Where curves over the same grid break and how they fall, `(curves, measures)`, with intervals."""
    levels, threshold = np.abs(batch[0].strengths), threshold_of(batch[0])
    by_seed = np.stack([[curve.of(curve.mean, name) for name in curve.measures] for curve in batch])
    _, means, _ = moments(by_seed, axis=-1)
    rates = batch[0].measures[0] in RATES
    draws = np.full((1, 1, *means.shape), np.nan)
    if len(levels) > 1:
        draws = np.stack([_seed_draws(by_seed, means), _episode_draws(batch, means, rates)], axis=1)
    drawn = _shapes(levels, draws, threshold)
    if len(levels) > 1 and not math.isnan(threshold):
        # A curve that never crosses has its critical strength somewhere beyond the sweep.
        drawn["critical_interpolated"][np.isnan(drawn["critical_interpolated"])] = np.inf
    limits = {"auc": float(np.ptp(levels)), "normalised_auc": 1.0} if rates else {}
    columns: dict[str, np.ndarray] = {}
    for name, values in _shapes(levels, means, threshold).items():
        interval = stats.percentile_interval(drawn[name], "bootstrap", by_seed.shape[-1], LEVEL)
        bounds = np.fmin.reduce(np.asarray(interval.low)), np.fmax.reduce(np.asarray(interval.high))
        low, high = np.clip(bounds, 0, limits[name]) if name in limits else bounds
        columns |= {name: values, f"{name}_low": low, f"{name}_high": high}
    return columns


def _shapes(levels: np.ndarray, rates: np.ndarray, threshold: float) -> dict[str, np.ndarray]:
    found = {"critical_interpolated": np.asarray(curves.critical_level_interpolated(levels, rates, threshold))}
    found["slope"] = np.asarray(curves.slope(levels, rates))
    for function in (curves.auc, curves.normalised_auc):
        # Each is a weighted sum along the curve: one product for all draws.
        found[function.__name__] = rates @ np.asarray(function(levels, np.eye(len(levels))))
    return found


def _seed_draws(by_seed: np.ndarray, means: np.ndarray) -> np.ndarray:
    """Draws curves around `means`, `(..., strengths)`, as their seeds spread; one seed gives `means` itself.

    A draw adds up the gaps between seeds and mean with normal weights, scaled by Student's t because a few
    seeds show too little of their spread. So the percentile interval of a straight sum along the curve, such
    as its area, is its t interval.
    """
    n = (~np.isnan(by_seed)).sum(axis=-1)
    scale = stats.t_half_width(1 / np.sqrt(np.maximum(n - 1, 1)), n, LEVEL) / NormalDist().inv_cdf((1 + LEVEL) / 2)
    gaps = np.nan_to_num((by_seed - means[..., None]) * scale[..., None])
    weights = generator(0, "seeds").standard_normal((RESAMPLES, by_seed.shape[-1]))
    return means + np.tensordot(weights, gaps, (1, -1))


def _episode_draws(batch: list[Curve], means: np.ndarray, rates: bool) -> np.ndarray:
    """Draws curves around `means` as episodes spread: the least there is, since seeds may agree by chance.

    Rates spread as if there were four episodes more: one that always succeeds, one that never does, one that
    falls and one that rises. Else a few episodes that all succeed pass for certainty.
    """
    pooled = np.stack([curve.scores.reshape(*means.shape[1:], 1, -1) for curve in batch])
    if rates:
        falls = (np.arange(means.shape[-1]) < means.shape[-1] / 2).astype(np.float64)
        more = np.stack([np.ones_like(falls), np.zeros_like(falls), falls, 1 - falls], axis=-1)[:, None]
        pooled = np.concatenate([pooled, np.broadcast_to(more, (*pooled.shape[:-1], 4))], axis=-1)
    return _bootstrap_means(pooled) + (means - moments(pooled[..., 0, :], axis=-1)[1])


def _bootstrap_means(values: np.ndarray) -> np.ndarray:
    """Cluster bootstrap means of `(..., seeds, episodes)`, as `(resamples, ...)`."""
    values = _blocks(values)
    flat = values.reshape(-1, values.shape[-2] * values.shape[-1]).T
    known = ~np.isnan(flat)
    draws = _draws(*values.shape[-2:])
    mass = float(len(flat)) if known.all() else draws @ known.astype(np.float64)
    with np.errstate(invalid="ignore"):
        return (draws @ np.where(known, flat, 0.0) / mass).reshape(RESAMPLES, *values.shape[:-2])


def _blocks(values: np.ndarray) -> np.ndarray:
    """Averages neighbouring episodes where there are many: their means spread the mean as they do themselves."""
    *rest, seeds, episodes = values.shape
    size = math.ceil(seeds * episodes / _MOST_DRAWN)
    if size <= 1:
        return values
    padding = np.full((*rest, seeds, -episodes % size), np.nan)
    return moments(np.concatenate([values, padding], axis=-1).reshape(*rest, seeds, -1, size), axis=-1)[1]


@functools.lru_cache(maxsize=4)
def _draws(seeds: int, episodes: int) -> np.ndarray:
    """How often each episode is drawn, seeds first and then episodes inside them; the same for all curves."""
    rng = generator(0, "bootstrap")
    drawn = rng.multinomial(seeds, np.full(seeds, 1 / seeds), RESAMPLES)
    counts = rng.multinomial(drawn * episodes, np.full(episodes, 1 / episodes))
    return counts.reshape(RESAMPLES, -1).astype(np.float64)
