import math

import numpy as np
import pytest

from brittlestar.statistics.rank_intervals import spearman_interval


@pytest.mark.parametrize("n", [4, 6, 12, 60])
@pytest.mark.parametrize("correlation", [0.0, 0.6, -0.9])
def test_the_interval_contains_the_correlation_of_the_population(n, correlation, rng):
    x = rng.normal(size=(4000, n))
    y = correlation * x + math.sqrt(1 - correlation**2) * rng.normal(size=x.shape)
    population = 6 / math.pi * math.asin(correlation / 2)
    # Ranks do not change under monotone functions, so neither does the promise.
    ranks = [values.argsort(axis=1).argsort(axis=1) for values in (np.exp(x), y**3)]
    squares = ((ranks[0] - ranks[1]) ** 2).sum(axis=1)
    bounds = {value: spearman_interval(1 - 6 * value / (n * (n * n - 1)), n) for value in set(squares.tolist())}
    hits = [bounds[value][0] <= population <= bounds[value][1] for value in squares.tolist()]
    assert np.mean(hits) > 0.95 - 0.012


@pytest.mark.parametrize("n", [0, 1, 2])
def test_fewer_than_three_pairs_say_nothing(n):
    assert spearman_interval(1.0, n) == (-1.0, 1.0)


@pytest.mark.parametrize("n", [3, 4])
def test_a_perfect_order_of_up_to_four_pairs_does_not_exclude_zero(n):
    # 1 of 6 and 1 of 24 orders are perfect by chance: more than 2.5 %.
    low, high = spearman_interval(1.0, n)
    assert low < 0 < high == 1.0


def test_the_interval_is_symmetric_and_shrinks():
    for n in (5, 20, 60):
        low, high = spearman_interval(0.5, n)
        assert spearman_interval(-0.5, n) == pytest.approx((-high, -low), abs=0.03)
        assert -1 <= low < 0.5 < high <= 1
    widths = [np.ptp(spearman_interval(0.5, n)) for n in (5, 10, 20, 40, 80)]
    assert widths == sorted(widths, reverse=True)


def test_the_formula_for_many_pairs_continues_the_simulation():
    assert spearman_interval(0.5, 41) == pytest.approx(spearman_interval(0.5, 40), abs=0.03)


def test_an_undefined_correlation_says_nothing():
    assert spearman_interval(math.nan, 9) == (-1.0, 1.0)
