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


def t_test(values: Array) -> float:
    """Returns the p value of Student's test that the mean is 0; equal values give 0, or 1 if they are 0."""
    error = values.std(ddof=1) / math.sqrt(len(values))
    if error == 0:
        return 0.0 if values.any() else 1.0
    return float(2 * special().stdtr(len(values) - 1, -abs(values.mean()) / error))


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
