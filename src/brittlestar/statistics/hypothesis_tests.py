"""Two-sided tests of rates and means, and the adjustment of several p values."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from brittlestar.errors import require
from brittlestar.statistics.arrays import Array, special
from brittlestar.statistics.intervals import check_counts

SIGNIFICANCE = 0.05
"""A p value below it counts as significant."""


class HypothesisTest(NamedTuple):
    """The p value of a two-sided test, and its method."""

    p_value: float
    method: str


def two_proportion_z(successes_a: int, n_a: int, successes_b: int, n_b: int) -> HypothesisTest:
    """Two-proportion z-test with pooled variance.

    Example:
        >>> round(two_proportion_z(80, 100, 65, 100).p_value, 4)
        0.0175
    """
    check_counts(successes_a, n_a, "_a")
    check_counts(successes_b, n_b, "_b")
    rate_a, rate_b = successes_a / n_a, successes_b / n_b
    pooled = (rate_a * n_a + rate_b * n_b) / (n_a + n_b)
    error = math.sqrt(max(0.0, pooled * (1 - pooled)) * (1 / n_a + 1 / n_b))
    z = float((rate_a - rate_b) / error) if error > 0 else 0.0
    return HypothesisTest(float(2 * special().ndtr(-abs(z))), "two-proportion z")


def boschloo(successes_a: int, n_a: int, successes_b: int, n_b: int) -> HypothesisTest:
    """Boschloo's exact test of two independent success rates."""
    check_counts(successes_a, n_a, "_a")
    check_counts(successes_b, n_b, "_b")
    if successes_a + successes_b in (0, n_a + n_b):  # the rates are equal, and scipy returns nan
        return HypothesisTest(1.0, "Boschloo")
    table = [[successes_a, successes_b], [n_a - successes_a, n_b - successes_b]]
    from scipy.stats import boschloo_exact  # loads for a second

    return HypothesisTest(min(1.0, float(boschloo_exact(table).pvalue)), "Boschloo")


def mcnemar_exact(only_a: int, only_b: int) -> HypothesisTest:
    """Exact McNemar test of two policies on the same episodes, from those that only one of them solves.

    Example:
        >>> mcnemar_exact(only_a=9, only_b=1).p_value
        0.021484375
    """
    require(only_a >= 0, "only_a", "at least 0", only_a)
    require(only_b >= 0, "only_b", "at least 0", only_b)
    n = only_a + only_b
    p = 2 * float(special().bdtr(min(only_a, only_b), n, 0.5)) if n else 1.0
    return HypothesisTest(min(1.0, p), "exact McNemar")


def t_test(*samples: Array) -> HypothesisTest:
    """Tests that the mean of one sample is 0, or that two samples have one mean (Welch).

    p is at least that of the sign test: a few equal values show no spread.

    Example:
        >>> t_test(np.arange(1.0, 8.0)).p_value < 0.05 < t_test(np.array([1.0, -1.0])).p_value
        True
    """
    method = "t over episodes" if len(samples) == 1 else "Welch's t over episodes"
    counts = np.array([sample.size for sample in samples])
    if counts.min() < 2:
        return HypothesisTest(1.0, method)
    gap = float(samples[0].mean() - (samples[1].mean() if len(samples) > 1 else 0.0))
    errors = np.array([sample.var(ddof=1) for sample in samples]) / counts
    floor = 0.5 ** float(counts.min() - 1)
    if not errors.any():
        return HypothesisTest(floor if gap else 1.0, method)
    freedom = errors.sum() ** 2 / (errors**2 / (counts - 1)).sum()
    p = 2 * float(special().stdtr(freedom, -abs(gap) / math.sqrt(errors.sum())))
    return HypothesisTest(max(p, floor), method)


def sign_flip_test(gaps: Array, rng: np.random.Generator, flips: int = 2000) -> HypothesisTest:
    """Tests differences of pairs: without an effect, the sign of each is chance, whatever their clusters.

    p is the share of random signs that give a sum as large; the observed signs count as one of them.

    Example:
        >>> sign_flip_test(np.ones(20), np.random.default_rng(0)).p_value < 0.001
        True
    """
    total = abs(float(gaps.sum()))
    signs = rng.integers(2, size=(flips, gaps.size), dtype=np.int8) * 2 - 1
    # Rounding must not make a sum of equal terms look smaller.
    as_large = int(np.sum(np.abs(signs @ gaps) >= total * (1 - 1e-9)))
    return HypothesisTest((as_large + 1) / (flips + 1), "sign flips")


def bootstrap_test(replicates: Array, method: str) -> HypothesisTest:
    """Tests that the mean of bootstrap replicates is 0.

    p is twice the smaller share of replicates at or beyond 0 on either side. The observed sample counts as a
    replicate, so p agrees with the percentile interval and is never 0.
    """
    smaller = min(int(np.sum(replicates <= 0)), int(np.sum(replicates >= 0)))
    return HypothesisTest(min(1.0, 2 * (smaller + 1) / (len(replicates) + 1)), method)


def holm(p_values: ArrayLike) -> Array:
    """Holm's adjusted p values: rejecting those below alpha keeps the family-wise error below it.

    nan remains nan and does not count as a comparison.

    Example:
        >>> holm([0.01, 0.04, 0.03])
        array([0.03, 0.06, 0.06])
    """
    p = np.array(p_values, dtype=np.float64)
    require(np.isnan(p) | ((p >= 0) & (p <= 1)), "p_values", "between 0 and 1", p)
    order = np.argsort(p, axis=None)[: np.sum(~np.isnan(p))]
    steps = p.flat[order] * np.arange(order.size, 0, -1)
    p.flat[order] = np.minimum(1.0, np.maximum.accumulate(steps))
    return p


def holm_levels(p_values: ArrayLike, alpha: float = SIGNIFICANCE) -> Array:
    """Significance levels at which Holm's steps test p values without nan: below it means rejected, and only then.

    An interval of confidence 1 minus this level agrees with the adjusted test.

    Example:
        >>> holm_levels([0.01, 0.04, 0.03])
        array([0.01666667, 0.025     , 0.025     ])
    """
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p)
    steps = alpha / np.arange(p.size, 0, -1)
    # Holm stops at the first p value that is not rejected; those after it are tested at its level.
    retained = np.flatnonzero(p[order] >= steps)
    if retained.size:
        steps[retained[0] :] = steps[retained[0]]
    levels = np.empty_like(p)
    levels[order] = steps
    return levels
