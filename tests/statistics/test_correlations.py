from __future__ import annotations

import math

import numpy as np
import pytest

from brittlestar.statistics.correlations import cluster_pearson, pearson, spearman


def test_correlations_of_known_columns(rng):
    x = rng.normal(size=200)
    y = -x + 0.5 * rng.normal(size=200)
    linear, ranks = pearson(x, y), spearman(x, y)
    assert linear.n == ranks.n == 200
    assert linear.low < linear.r < linear.high < -0.8
    assert linear.p < 1e-9
    assert ranks.r < -0.8
    assert spearman(np.append(x, np.nan), np.append(x**3, 1.0)).r == pytest.approx(1.0)


def test_spearmans_p_of_few_pairs_is_exact():
    line = np.arange(4.0)
    assert spearman(line, line).p == pytest.approx(2 / 24), "two orders of 24 are in line"


@pytest.mark.parametrize("values", [np.array([1.0, 2.0]), np.ones(9), np.ones(9) + 1e-14 * np.arange(9)])
def test_few_pairs_and_constants_have_no_correlation(values):
    for correlation in (pearson(values, values), spearman(values, values)):
        assert math.isnan(correlation.r) and math.isnan(correlation.p)


def test_three_pairs_and_perfect_lines_have_no_interval():
    assert math.isnan(pearson([1, 2, 3], [1, 2, 4]).low)
    assert math.isnan(pearson([1, 2, 3, 4], [2, 4, 6, 8]).low)


def test_fishers_interval_covers(rng):
    sims, r = 500, 0.6
    hits = 0
    for _ in range(sims):
        x = rng.normal(size=20)
        correlation = pearson(x, r * x + math.sqrt(1 - r**2) * rng.normal(size=20))
        hits += correlation.low <= r <= correlation.high
    assert abs(hits / sims - 0.95) < 4 * math.sqrt(0.05 * 0.95 / sims)


def test_clusters_widen_the_interval(rng):
    """Pairs that repeat inside a cluster are no new pairs."""
    pairs = rng.normal(size=(12, 2)) @ np.array([[1.0, 0.6], [0.0, 0.8]])
    once, often = (cluster_pearson([np.tile(pair, (n, 1)) for pair in pairs], rng, 300) for n in (1, 20))
    assert often.r == pytest.approx(once.r)
    assert (often.n, once.n) == (240, 12)
    assert often.high - often.low > 0.7 * (once.high - once.low)
    assert math.isnan(cluster_pearson([pairs, pairs], rng).low), "two clusters show no spread"
