"""Episodes that deliver the margin they promise."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats as reference

from brittlestar.statistics.intervals import t_half_width, wilson
from brittlestar.statistics.sample_size import (
    clopper_pearson,
    decisive_sample_size,
    exact_sample_size,
    expected_half_width,
    sample_size,
    t_sample_size,
)


@pytest.mark.parametrize(
    ("rate", "margin", "episodes"),
    [(0.5, 0.05, 385), (0.8, 0.05, 246), (0.95, 0.05, 73), (0.5, 0.1, 97), (0.8, 0.1, 62), (0.95, 0.1, 19)],
)
def test_sample_size_formula(rate, margin, episodes):
    assert sample_size(rate, margin) == episodes


@pytest.mark.parametrize("margin", [0.05, 0.1])
@pytest.mark.parametrize("rate", [0.5, 0.8, 0.95])
def test_formula_puts_the_estimate_within_the_margin(rate, margin):
    n = sample_size(rate, margin)
    k = np.arange(n + 1)
    inside = np.abs(k / n - rate) <= margin + 1e-12
    assert inside @ reference.binom.pmf(k, n, rate) > 0.93


@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
@pytest.mark.parametrize(("successes", "n"), [(0, 1), (0, 10), (1, 10), (8, 10), (10, 10), (37, 200)])
def test_clopper_pearson_agrees_with_scipy(successes, n, level):
    expected = reference.binomtest(successes, n).proportion_ci(level, method="exact")
    bounds = clopper_pearson(np.array([successes]), np.array([n]), level)
    assert np.ravel(bounds) == pytest.approx((expected.low, expected.high), abs=1e-12)


@pytest.mark.parametrize("n", [20, 50, 100])
def test_clopper_pearson_never_covers_less_than_its_level(n):
    k, rates = np.arange(n + 1)[:, None], np.linspace(0.001, 0.999, 999)
    low, high = clopper_pearson(k, np.full_like(k, n))
    coverage = np.sum((low <= rates) * (rates <= high) * reference.binom.pmf(k, n, rates), axis=0)
    assert coverage.min() >= 0.95
    assert coverage.mean() < 0.98


def scipy_half_width(n: int, rate: float, level: float) -> float:
    k, tail = np.arange(n + 1), (1 - level) / 2
    low = np.where(k == 0, 0, reference.beta.ppf(tail, np.maximum(k, 1), n - k + 1))
    high = np.where(k == n, 1, reference.beta.ppf(1 - tail, k + 1, np.maximum(n - k, 1)))
    return float((high - low) / 2 @ reference.binom.pmf(k, n, rate))


@pytest.mark.parametrize(
    ("rate", "margin", "level"),
    [
        (0.5, 0.05, 0.95),
        (0.8, 0.05, 0.95),
        (0.95, 0.05, 0.95),
        (1.0, 0.05, 0.95),
        (0.0, 0.1, 0.9),
        (0.3, 0.2, 0.99),
    ],
)
def test_exact_sample_size_is_the_smallest_that_delivers(rate, margin, level):
    n = exact_sample_size(rate, margin, level)
    assert scipy_half_width(n, rate, level) <= margin < scipy_half_width(n - 1, rate, level)


@pytest.mark.parametrize("rate", [0.0, 0.01, 0.3, 0.5, 0.95])
@pytest.mark.parametrize("level", [0.5, 0.95])
def test_expected_half_width_falls_with_n(rate, level):
    # This is what lets the search halve its range.
    widths = [expected_half_width(n, rate, level) for n in range(1, 400)]
    assert np.all(np.diff(widths) < 0)


def test_exact_sample_size_at_the_smallest_margin():
    assert 960_365 < exact_sample_size(0.5, 0.001) < 962_400


BAD_CALLS = [
    (lambda: sample_size(1.2, 0.05), "`rate` must be between 0 and 1, got 1.2"),
    (lambda: sample_size(0.8, 5), "`margin` must be at least 0.001 and below 0.5, got 5"),
    (lambda: exact_sample_size(0.8, 0), "`margin` must be at least 0.001 and below 0.5, got 0"),
]


@pytest.mark.parametrize(("call", "message"), BAD_CALLS, ids=[message for _, message in BAD_CALLS])
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("rate", [0.05, 0.5, 0.9])
def test_expected_half_width_of_another_interval(rate):
    n, k = 30, np.arange(31)
    low, high = wilson(k, np.full(31, n))
    expected = float((high - low) / 2 @ reference.binom.pmf(k, n, rate))
    assert expected_half_width(n, rate, 0.95, wilson) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("n", "half_width", "margin"), [(2, 0.5, 0.1), (30, 0.1, 0.03), (100, 0.1, 0.2)])
def test_t_sample_size_is_the_smallest_whose_interval_is_narrow_enough(n, half_width, margin):
    std = half_width / t_half_width(1.0, n)
    size = t_sample_size(half_width, n, margin)
    assert t_half_width(std, size) <= margin
    assert size == 2 or t_half_width(std, size - 1) > margin


@pytest.mark.parametrize(("rate", "bound"), [(0.9, 0.8), (0.3, 0.35), (0.99, 0.95), (1.0, 0.9), (0.0, 0.2)])
def test_a_decisive_sample_size_decides_with_the_chance_that_it_promises(rate, bound):
    def chance(n: int) -> float:
        k = np.arange(n + 1)
        low, high = clopper_pearson(k, np.full(n + 1, n))
        return float(reference.binom.pmf(k, n, rate) @ (low >= bound if rate > bound else high <= bound))

    size = decisive_sample_size(rate, bound)
    assert chance(size) >= 0.8
    # Counts are whole, so the chance goes up and down a little.
    assert chance(size - 1) < 0.8 and chance(size // 2) < 0.8


@pytest.mark.parametrize("bound", [0.8, 0.8005])
def test_a_bound_at_the_rate_has_no_decisive_sample_size(bound):
    with pytest.raises(ValueError, match="`bound` must be at least 0.001 from the rate"):
        decisive_sample_size(0.8, bound)
