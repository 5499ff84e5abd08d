"""Correlations and tests of groups, with what has to stand beside them."""

from __future__ import annotations

import importlib
import math
from typing import Any

import numpy as np

from brittlestar.results.format import bounded
from brittlestar.statistics.correlations import Correlation
from brittlestar.studies.stress.figures.canvas import p_text


def correlation_text(correlation: Correlation) -> str:
    """Writes Pearson's r with its interval, p value and number of pairs.

    Example:
        >>> correlation_text(Correlation(0.99, 0.0019, 5, low=0.8, high=1.0))
        'r = 0.99 [0.80, 1.00], p = 0.0019, n = 5'
        >>> correlation_text(Correlation(math.nan, math.nan, 3))
        'r undefined (n = 3)'
    """
    if math.isnan(correlation.r):
        return f"r undefined (n = {correlation.n})"
    r = bounded(correlation.r, correlation.low, correlation.high, ".2f")
    return f"r = {r}, {p_text(correlation.p)}, n = {correlation.n}"


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
