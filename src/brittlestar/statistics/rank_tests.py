"""Rank tests of groups: a statistic and its p value; p is 1 where nothing varies, and nan where nothing compares."""

import math

import numpy as np


def mann_whitney(a: list[float], b: list[float]) -> tuple[float, float]:
    """Returns U and the two-sided p value of two independent groups."""
    from scipy.stats import mannwhitneyu

    if not a or not b:
        return math.nan, math.nan
    if np.ptp([*a, *b]) == 0:
        return len(a) * len(b) / 2, 1.0
    return _pair(mannwhitneyu(a, b))


def kruskal_wallis(groups: list[list[float]]) -> tuple[float, float]:
    """Returns H and p of several independent groups."""
    from scipy.stats import kruskal

    groups = [group for group in groups if group]
    if len(groups) < 2:
        return math.nan, math.nan
    return (0.0, 1.0) if np.ptp(np.concatenate(groups)) == 0 else _pair(kruskal(*groups))


def friedman(table: np.ndarray) -> tuple[float, float]:
    """Returns chi-squared and p of `(units, treatments)`; Wilcoxon's test compares two treatments."""
    from scipy.stats import friedmanchisquare

    if table.shape[1] == 2:
        return math.nan, wilcoxon(table[:, 0] - table[:, 1])
    if table.shape[1] < 2 or len(table) < 2:
        return math.nan, math.nan
    return (0.0, 1.0) if (np.ptp(table, axis=1) == 0).all() else _pair(friedmanchisquare(*table.T))


def wilcoxon(gaps: np.ndarray) -> float:
    """Returns the p value of the signed-rank test that paired differences lie around 0.

    Example:
        >>> wilcoxon(np.array([1.0, 2.0, 3.0, 4.0, 5.0])), wilcoxon(np.zeros(3))
        (0.0625, 1.0)
    """
    from scipy import stats

    if not gaps.any():
        return 1.0 if len(gaps) else math.nan
    gaps = gaps[gaps != 0]
    # With ties scipy permutes all signs, which takes seconds for a dozen.
    tied = len(np.unique(np.abs(gaps))) < len(gaps)
    return float(stats.wilcoxon(gaps, method="approx" if tied and len(gaps) > 8 else "auto").pvalue)


def _pair(result: tuple[float, float]) -> tuple[float, float]:
    statistic, p_value = result
    return float(statistic), float(p_value)
