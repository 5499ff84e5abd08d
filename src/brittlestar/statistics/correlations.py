"""Correlations of pairs, with intervals and p values."""

import itertools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from brittlestar.statistics.arrays import Array
from brittlestar.statistics.intervals import LEVEL, tail

LEAST_PAIRS = 3
_MOST_PERMUTED = 8
"""Up to so many pairs Spearman's p is exact; beyond, it is Student's t approximation."""


@dataclass(frozen=True)
class Correlation:
    """A correlation of `n` pairs with its two-sided p value and its interval; nan where it is undefined."""

    r: float
    p: float
    n: int
    low: float = math.nan
    high: float = math.nan


def pearson(x: ArrayLike, y: ArrayLike) -> Correlation:
    """Pearson's correlation with Fisher's interval; undefined below 3 pairs or where a side is constant.

    Example:
        >>> c = pearson([0, 1, 2, 3, 4], [0, 1, 2, 3, 5])
        >>> round(c.r, 2), round(c.low, 2), round(c.p, 4)
        (0.99, 0.8, 0.0019)
    """
    from scipy.stats import pearsonr

    a, b = _pairs(x, y)
    if _is_undefined(a, b):
        return Correlation(math.nan, math.nan, len(a))
    result = pearsonr(a, b)
    has_interval = len(a) > LEAST_PAIRS and abs(result.statistic) < 1 - 1e-12
    low, high = result.confidence_interval(LEVEL) if has_interval else (math.nan, math.nan)
    return Correlation(float(np.clip(result.statistic, -1, 1)), float(result.pvalue), len(a), float(low), float(high))


def spearman(x: ArrayLike, y: ArrayLike) -> Correlation:
    """Spearman's rank correlation, without an interval; see `pearson`."""
    from scipy.stats import rankdata, spearmanr

    a, b = _pairs(x, y)
    if _is_undefined(a, b):
        return Correlation(math.nan, math.nan, len(a))
    r, p = spearmanr(a, b)
    if len(a) <= _MOST_PERMUTED:
        p = _permutation_p(rankdata(a), rankdata(b))
    return Correlation(float(np.clip(r, -1, 1)), float(p), len(a))


def cluster_pearson(clusters: list[Array], rng: np.random.Generator, resamples: int = 1000) -> Correlation:
    """Pearson's correlation over the pairs `(n, 2)` of all clusters; its interval draws whole clusters, p is nan."""
    pairs = np.concatenate(clusters)
    r = pearson(pairs[:, 0], pairs[:, 1]).r
    if math.isnan(r) or len(clusters) < 3:
        return Correlation(r, math.nan, len(pairs))
    replicates = []
    for _ in range(resamples):
        sample = np.concatenate([clusters[i] for i in rng.integers(len(clusters), size=len(clusters))])
        if np.ptp(sample, axis=0).min() > 1e-12:
            replicates.append(np.corrcoef(sample.T)[0, 1])
    low, high = np.quantile(replicates, [tail(LEVEL), 1 - tail(LEVEL)]) if replicates else (math.nan, math.nan)
    return Correlation(r, math.nan, len(pairs), float(low), float(high))


def _pairs(x: ArrayLike, y: ArrayLike) -> tuple[Array, Array]:
    a, b = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    present = ~(np.isnan(a) | np.isnan(b))
    # Rounding errors must not rank equal values.
    return a[present].round(12), b[present].round(12)


def _is_undefined(a: Array, b: Array) -> bool:
    return len(a) < LEAST_PAIRS or np.ptp(a) == 0 or np.ptp(b) == 0


def _permutation_p(x: Array, y: Array) -> float:
    """Share of all orders of `y` that correlate with `x` at least as much."""
    orders = np.array(list(itertools.permutations(y - y.mean())))
    products = np.abs(orders @ (x - x.mean()))
    return float(np.mean(products >= products[0] - 1e-9))
