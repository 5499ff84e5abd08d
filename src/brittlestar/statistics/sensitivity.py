"""Sensitivity of a response to factors that vary at once: Sobol indices and Morris effects, with bootstrap intervals.

Designs and estimators are those of SALib. A response has a column for each episode; all points share their episodes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from brittlestar.errors import require
from brittlestar.statistics.arrays import Array
from brittlestar.statistics.intervals import percentile_interval

SENSITIVITY_RESAMPLES = 1000
_PIECE = 100
"""Resamples that are in memory at once."""
_ROUNDING = 1e-9
_LEVELS = 4
"""Levels of a Morris design."""


class IndexEstimate(NamedTuple):
    """A value for each factor, and its 95 % interval."""

    value: Array
    low: Array
    high: Array


class SobolIndices(NamedTuple):
    """Shares of the variance of the response: of each factor alone, and with all its interactions."""

    first: IndexEstimate
    total: IndexEstimate

    def as_shares(self) -> SobolIndices:
        """Returns the indices and their intervals, cut to [0, 1]: the estimators may end outside."""
        return SobolIndices(*(IndexEstimate(*np.clip(part, 0.0, 1.0)) for part in self))


class MorrisEffects(NamedTuple):
    """Changes of the response over the whole range of each factor: mean size, mean, and standard deviation."""

    size: IndexEstimate
    mean: Array
    spread: Array


def sobol_design(factors: int, samples: int, seed: int) -> Array:
    """Returns a Saltelli design of `samples * (factors + 2)` points in [0, 1), from scrambled Sobol points."""
    from SALib.sample import sobol

    require(samples >= 2 and samples & (samples - 1) == 0, "samples", "a power of 2 from 2 on", samples)
    return np.asarray(sobol.sample(_problem(factors), samples, calc_second_order=False, seed=seed))


def morris_design(factors: int, samples: int, seed: int) -> Array:
    """Returns `samples` Morris trajectories of `factors + 1` points in [0, 1]; a step changes one factor."""
    from SALib.sample import morris

    require(samples >= 2, "samples", "at least 2", samples)
    return np.asarray(morris.sample(_problem(factors), samples, num_levels=_LEVELS, seed=seed))


def sobol_indices(response: Array, factors: int, random: np.random.Generator) -> SobolIndices:
    """Returns Sobol indices of a response at a Saltelli design, `(points, episodes)`; nan if it is constant.

    Where the noise of the episodes hides the variance, an index is nan, and its interval has no ends.

    They are those of the mean over all possible episodes: products of two means are taken over pairs of different
    episodes, because the noise of a few episodes would pass for interactions. With equal episodes, or one, they are the
    indices of SALib. The bootstrap resamples the blocks of the design and the episodes.
    """
    blocks = np.asarray(response, dtype=np.float64).reshape(-1, factors + 2, np.shape(response)[-1])
    if np.ptp(blocks) == 0:
        empty = IndexEstimate(*[np.full(factors, np.nan)] * 3)
        return SobolIndices(empty, empty)
    # Far from 0 the estimators are less precise.
    blocks = blocks - blocks.mean()
    count, _, episodes = blocks.shape
    values = _sobol(blocks, np.ones((count, 1)), np.ones((episodes, 1)))[..., 0]
    replicates = [_sobol(blocks, *weights) for weights in _resamples(count, episodes, random)]
    low, high = map(np.asarray, percentile_interval(np.moveaxis(np.concatenate(replicates, axis=-1), -1, 0)))
    is_hidden = np.isnan(values)
    low, high = np.where(is_hidden, -np.inf, low), np.where(is_hidden, np.inf, high)
    return SobolIndices(*(IndexEstimate(values[i], low[i], high[i]) for i in range(2)))


def morris_effects(design: Array, response: Array, random: np.random.Generator) -> MorrisEffects:
    """Returns Morris effects of a response at a Morris design, `(points, episodes)`, for a change over the whole range.

    The bootstrap resamples the trajectories and the episodes.
    """
    from SALib.analyze import morris

    values, points = np.asarray(response, dtype=np.float64), np.asarray(design, dtype=np.float64)
    factors, problem = points.shape[1], _problem(points.shape[1])
    result = morris.analyze(problem, points, values.mean(axis=1), num_resamples=2, num_levels=_LEVELS, seed=1)
    blocks = _effects(points.reshape(-1, factors + 1, factors), values.reshape(-1, factors + 1, values.shape[1]))
    sizes = [
        np.einsum("tfr,tr->rf", np.abs(blocks @ weights), rows) / rows.sum(axis=0)[:, None] / values.shape[1]
        for rows, weights in _resamples(len(blocks), values.shape[1], random)
    ]
    size = IndexEstimate(np.asarray(result["mu_star"]), *map(np.asarray, percentile_interval(np.concatenate(sizes))))
    return MorrisEffects(size, np.asarray(result["mu"]), np.asarray(result["sigma"]))


def _problem(factors: int) -> dict[str, Any]:
    return {"num_vars": factors, "names": [str(i) for i in range(factors)], "bounds": [[0.0, 1.0]] * factors}


def _effects(points: Array, values: Array) -> Array:
    """Returns the change of the response per unit of each factor, `(trajectories, factors, episodes)`."""
    steps, changes = np.diff(points, axis=1), np.diff(values, axis=1)
    # A step of a trajectory changes one factor.
    order = np.argsort(np.abs(steps).argmax(axis=2), axis=1)
    slopes = changes / steps.sum(axis=2)[:, :, None]
    return np.take_along_axis(slopes, order[:, :, None], axis=1)


def _sobol(blocks: Array, rows: Array, weights: Array) -> Array:
    """Returns first and total indices, `(2, factors, resamples)`.

    Args:
        blocks: responses, `(blocks, factors + 2, episodes)`; a block has A, A with one factor of B, and B.
        rows: how often each resample has a block, `(blocks, resamples)`.
        weights: how often it has an episode, `(episodes, resamples)`.
    """
    first, crossed, last = blocks[:, :1], blocks[:, 1:-1], blocks[:, -1:]
    alone = _mean_of_rows(_products(last, crossed - first, weights), rows)
    changed = _mean_of_rows(_products(first - crossed, first - crossed, weights), rows)
    ends = blocks[:, [0, -1]]
    squares = _mean_of_rows(_products(ends, ends, weights), rows).mean(axis=0)
    means = ends.mean(axis=1).T @ (rows / rows.sum(axis=0))
    variance = squares - _products_of_columns(means, weights)
    with np.errstate(divide="ignore", invalid="ignore"):
        # What rounding leaves of no variance is none.
        return np.where(variance > _ROUNDING * (blocks**2).mean(), np.stack([alone, changed / 2]) / variance, np.nan)


def _products(left: Array, right: Array, weights: Array) -> Array:
    """Returns products of two means, `(..., resamples)`, over pairs of different episodes."""
    if len(weights) == 1:
        return np.broadcast_to(left * right, (*np.broadcast_shapes(left.shape, right.shape)[:-1], weights.shape[1]))
    same = (left * right) @ weights**2
    return np.asarray(((left @ weights) * (right @ weights) - same) / _pairs(weights))


def _products_of_columns(means: Array, weights: Array) -> Array:
    """Returns the square of the mean of each column, over pairs of different episodes."""
    if len(weights) == 1:
        return np.asarray(means[0] ** 2)
    return np.asarray(((means * weights).sum(axis=0) ** 2 - (means**2 * weights**2).sum(axis=0)) / _pairs(weights))


def _pairs(weights: Array) -> Array:
    """Returns the number of pairs of different episodes; nan for a resample that has none, which is left out."""
    count = weights.sum(axis=0) ** 2 - (weights**2).sum(axis=0)
    return np.where(count > 0, count, np.nan)


def _mean_of_rows(values: Array, rows: Array) -> Array:
    return np.asarray(np.einsum("nfr,nr->fr", values, rows) / rows.sum(axis=0))


def _resamples(count: int, episodes: int, random: np.random.Generator) -> Iterator[tuple[Array, Array]]:
    """Yields how often each resample has a block, and an episode."""
    for _ in range(SENSITIVITY_RESAMPLES // _PIECE):
        rows = random.multinomial(count, [1 / count] * count, size=_PIECE).T
        yield (
            rows.astype(np.float64),
            random.multinomial(episodes, [1 / episodes] * episodes, size=_PIECE).T.astype(np.float64),
        )
