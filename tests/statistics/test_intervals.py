"""Worked values, bad inputs and the coverage that each interval promises."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats as reference

from brittlestar.statistics.intervals import (
    Interval,
    at_least_wilson,
    percentile_interval,
    t_half_width,
    t_interval,
    t_stretch,
    welch_half_width,
    wilson,
)  # fmt: skip

NAN = float("nan")


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def covers(interval: Interval, truth: float | np.ndarray) -> np.ndarray:
    return np.asarray((interval.low <= truth) & (truth <= interval.high))


def within_noise(share: float, nominal: float, sims: int) -> bool:
    """Four standard errors: one false alarm in 16,000 seeds."""
    return abs(share - nominal) < 4 * math.sqrt(nominal * (1 - nominal) / sims)


@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
@pytest.mark.parametrize(("successes", "n"), [(0, 1), (0, 10), (1, 10), (8, 10), (10, 10), (37, 200)])
def test_wilson_agrees_with_scipy(successes, n, level):
    expected = reference.binomtest(successes, n).proportion_ci(level, method="wilson")
    assert wilson(successes, n, level) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_wilson_takes_arrays():
    intervals = [wilson(0, 10), wilson(8, 10), wilson(10, 20)]
    np.testing.assert_allclose(wilson([0, 8, 10], [10, 10, 20]), np.transpose(intervals))


@pytest.mark.parametrize("n", [1, 7, 100, 12345])
def test_wilson_ends_exactly_at_0_and_1(n):
    assert wilson(0, n).low == 0.0
    assert wilson(n, n).high == 1.0


def exact_coverage(n: int, rates: np.ndarray) -> np.ndarray:
    k = np.arange(n + 1)[:, None]
    mass = reference.binom.pmf(k, n, rates)
    return np.sum(covers(wilson(k, n), rates) * mass, axis=0)


@pytest.mark.parametrize(
    # Wilson holds 95 % on average over rates, not for each: counts are whole numbers, so coverage jumps
    # as the rate moves. At these n it stays above 92.5 % for rates from .1 to .9 and drops to 85 % at the
    # ends; a floor of 94 % for all rates would be false.
    ("n", "middle_floor", "floor"),
    [(20, 0.926, 0.85), (50, 0.930, 0.86), (100, 0.932, 0.90)],
)
def test_wilson_coverage_is_nominal_on_average(n, middle_floor, floor):
    rates = np.linspace(0.001, 0.999, 999)
    coverage = exact_coverage(n, rates)
    assert 0.950 <= coverage.mean() <= 0.954
    assert middle_floor <= coverage[(rates >= 0.1) & (rates <= 0.9)].min() < 0.94
    assert floor <= coverage.min() < 0.94


def test_t_interval_agrees_with_scipy_and_leaves_nan_out():
    values = [0.31, 0.52, 0.44, 0.61]
    low, high = reference.t.interval(0.9, 3, np.mean(values), reference.sem(values))
    assert t_interval([*values, NAN], level=0.9) == pytest.approx((low, high))


@pytest.mark.parametrize("values", [[0.8], [0.8, NAN], [NAN]])
def test_t_interval_of_one_seed_is_not_zero_width(values):
    interval = t_interval(values)
    assert math.isnan(interval.low)
    assert math.isnan(interval.high)


@pytest.mark.parametrize("n", [2, 3, 5, 10])
def test_t_interval_coverage(n):
    sims, draws = 4000, rng(n).normal(3.0, 2.0, size=(4000, n))
    hits = [bool(covers(t_interval(seeds), 3.0)) for seeds in draws]
    assert within_noise(np.mean(hits), 0.95, sims)
    if n < 5:
        half = 1.96 * draws.std(axis=1, ddof=1) / math.sqrt(n)
        assert np.mean(np.abs(draws.mean(axis=1) - 3.0) <= half) < 0.90


def test_percentile_interval_cuts_both_ends_and_ignores_nan():
    replicates = np.r_[rng().permutation(np.arange(1.0, 1001)), [NAN] * 50]
    assert percentile_interval(replicates, level=0.9) == (51.0, 950.0)
    both = percentile_interval(np.c_[replicates, -replicates], level=0.9)
    np.testing.assert_array_equal(both.low, [51, -950])
    assert math.isnan(percentile_interval([NAN, NAN]).low)


def test_percentile_interval_takes_infinite_replicates():
    assert percentile_interval([0.1] * 50 + [math.inf] * 50) == (0.1, math.inf)


def test_seeds_that_agree_are_widened_to_wilson():
    expected = wilson([24, 27], 30)
    interval = at_least_wilson([0.8, NAN], [0.8, NAN], [24, 27], 30)
    assert interval.low == pytest.approx(expected.low)
    assert interval.high == pytest.approx(expected.high)
    assert at_least_wilson(-0.5, 1.5, 24, 30).low == 0
    assert at_least_wilson(-0.5, 1.5, 24, 30).high == 1


@pytest.mark.parametrize(("n_a", "n_b"), [(5, 5), (3, 20)])
def test_welch_agrees_with_scipy(n_a, n_b):
    a, b = rng(1).normal(0, 1, n_a), rng(2).normal(0, 3, n_b)
    expected = reference.ttest_ind(a, b, equal_var=False).confidence_interval(0.9)
    half = welch_half_width([a.var(ddof=1), b.var(ddof=1)], [n_a, n_b], level=0.9)
    assert (a.mean() - b.mean() - half, a.mean() - b.mean() + half) == pytest.approx((expected.low, expected.high))
    assert welch_half_width([0.0, 0.0], [1, 5]) == 0.0
    assert welch_half_width([a.var(ddof=1)], [n_a]) == pytest.approx(t_half_width(a.std(ddof=1), n_a))


def test_stretched_normal_replicates_have_a_t_interval():
    replicates = t_stretch(2.0, 5) * reference.norm.ppf((np.arange(20_000) + 0.5) / 20_000)
    assert percentile_interval(replicates).high == pytest.approx(t_half_width(2.0, 5), rel=1e-3)


BAD_CALLS = [
    (lambda: wilson(0, 0), "`n` must be at least 1, got 0"),
    (lambda: wilson(11, 10), "`successes` must be between 0 and `n`, got 11"),
    (lambda: wilson(-1, 10), "`successes` must be between 0 and `n`, got -1"),
    (lambda: wilson(0.8, 10), "`successes` must be a whole number, got 0.8"),
    (lambda: wilson([1, 2], [10, 10.5]), "`n` must be a whole number"),
    (lambda: wilson(8, 10, level=95), "`level` must be above 0 and below 1, got 95"),
    (lambda: t_interval([1.0, 2.0], level=0), "`level` must be above 0 and below 1, got 0"),
    (lambda: percentile_interval([]), "`replicates` must be at least 1 number, got 0"),
]


@pytest.mark.parametrize(("call", "message"), BAD_CALLS, ids=[message for _, message in BAD_CALLS])
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
