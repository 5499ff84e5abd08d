"""Correlations and tests of groups, with what has to stand beside them."""

from __future__ import annotations

import importlib
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from brittlestar.randomness import generator
from brittlestar.results.format import bounded
from brittlestar.studies.stress.figures.canvas import p_text

_RESAMPLES = 1000


@dataclass(frozen=True)
class Correlation:
    """Pearson's r with a 95 % interval."""

    r: float
    low: float
    high: float
    p: float
    n: int

    def __str__(self) -> str:
        if math.isnan(self.r):
            return f"r undefined (n = {self.n})"
        return f"r = {bounded(self.r, self.low, self.high, '.2f')}, {p_text(self.p)}, n = {self.n}"


def correlate(x: Any, y: Any) -> Correlation:
    """Returns Pearson's r of pairs, with Fisher's interval; undefined for fewer than 3 or where nothing varies.

    Example:
        >>> print(correlate([0, 1, 2, 3, 4], [0, 1, 2, 3, 5]))
        r = 0.99 [0.80, 1.00], p = 0.0019, n = 5
        >>> print(correlate([0, 1, 2], [1, 1, 1]))
        r undefined (n = 3)
    """
    a, b = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    known = ~(np.isnan(a) | np.isnan(b))
    a, b, n = a[known], b[known], int(known.sum())
    if n < 3 or np.ptp(a) < 1e-12 or np.ptp(b) < 1e-12:
        return Correlation(math.nan, math.nan, math.nan, math.nan, n)
    found = _scipy().pearsonr(a, b)
    low = high = math.nan
    if n > 3 and abs(found.statistic) < 1 - 1e-12:
        low, high = found.confidence_interval(0.95)
    return Correlation(float(found.statistic), float(low), float(high), float(found.pvalue), n)


def correlate_clusters(clusters: list[np.ndarray]) -> Correlation:
    """Returns r over all pairs `(n, 2)`, with an interval that draws whole clusters; p is left out."""
    pairs = np.concatenate(clusters)
    plain = correlate(pairs[:, 0], pairs[:, 1])
    if math.isnan(plain.r) or len(clusters) < 3:
        return Correlation(plain.r, math.nan, math.nan, math.nan, len(pairs))
    rng, drawn = generator(0, "stress/figures"), []
    for _ in range(_RESAMPLES):
        sample = np.concatenate([clusters[i] for i in rng.integers(len(clusters), size=len(clusters))])
        if np.ptp(sample, axis=0).min() > 1e-12:
            drawn.append(np.corrcoef(sample.T)[0, 1])
    low, high = np.quantile(drawn, [0.025, 0.975]) if drawn else (math.nan, math.nan)
    return Correlation(plain.r, float(low), float(high), math.nan, len(pairs))


def mann_whitney(a: list[float], b: list[float]) -> tuple[float, float]:
    """Returns U and the two-sided p value.

    Example:
        >>> mann_whitney([1.0, 2.0, 3.0], [4.0, 5.0, 6.0])
        (0.0, 0.1)
    """
    if not a or not b:
        return math.nan, math.nan
    if np.ptp([*a, *b]) == 0:
        return len(a) * len(b) / 2, 1.0
    found = _scipy().mannwhitneyu(a, b)
    return float(found.statistic), float(found.pvalue)


def kruskal_wallis(groups: list[list[float]]) -> tuple[float, float]:
    """Returns H and p of several groups; nan for fewer than two."""
    groups = [group for group in groups if group]
    if len(groups) < 2:
        return math.nan, math.nan
    if np.ptp(np.concatenate(groups)) == 0:
        return 0.0, 1.0
    found = _scipy().kruskal(*groups)
    return float(found.statistic), float(found.pvalue)


def friedman(table: np.ndarray) -> tuple[float, float]:
    """Returns chi-squared and p of `(units, treatments)`; two treatments are compared by Wilcoxon's test."""
    if table.shape[1] == 2:
        return math.nan, wilcoxon(table[:, 0] - table[:, 1])
    if table.shape[1] < 2 or len(table) < 2:
        return math.nan, math.nan
    if (np.ptp(table, axis=1) == 0).all():
        return 0.0, 1.0
    found = _scipy().friedmanchisquare(*table.T)
    return float(found.statistic), float(found.pvalue)


def wilcoxon(gaps: np.ndarray) -> float:
    """Returns the p value of the signed-rank test that paired differences lie around 0; nan without any.

    Example:
        >>> wilcoxon(np.array([1.0, 2.0, 3.0, 4.0, 5.0])), wilcoxon(np.zeros(3))
        (0.0625, 1.0)
    """
    if not len(gaps):
        return math.nan
    gaps = gaps[gaps != 0]
    if not len(gaps):
        return 1.0
    # With ties scipy permutes all signs, which takes seconds for a dozen.
    tied = len(np.unique(np.abs(gaps))) < len(gaps)
    return float(_scipy().wilcoxon(gaps, method="approx" if tied and len(gaps) > 8 else "auto").pvalue)


def _scipy() -> Any:
    return importlib.import_module("scipy.stats")
