from __future__ import annotations

import math

import numpy as np
import pytest

from brittlestar.statistics import curves
from brittlestar.statistics.intervals import percentile_interval
from brittlestar.statistics.resampling import cluster_means


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 0, 1]])
def test_curve_summaries_worked_values(order):
    levels, rates = np.array([0, 0.05, 0.1])[order], np.array([1, 0.8, 0.4])[order]
    assert curves.critical_level(levels, rates) == 0.1
    assert curves.critical_level_interpolated(levels, rates) == pytest.approx(0.0875)
    assert curves.slope(levels, rates) == pytest.approx(-6.0)
    assert curves.auc(levels, rates) == pytest.approx(0.075)
    assert curves.normalised_auc(levels, rates) == pytest.approx(0.75)


def test_curve_that_never_breaks():
    assert math.isnan(curves.critical_level([0, 0.1], [1, 0.9]))
    assert math.isnan(curves.critical_level_interpolated([0, 0.1], [1, 0.9]))
    assert curves.critical_level([0, 0.1], [1, 0.9], threshold=0.95) == 0.1
    assert math.isnan(curves.critical_level([0, 0.1], [1, 0.5]))


def test_curve_below_the_threshold_from_the_start():
    assert curves.critical_level([0.2, 0.3], [0.4, 0.1]) == 0.2
    assert curves.critical_level_interpolated([0.2, 0.3], [0.4, 0.1]) == 0.2


def test_first_of_several_crossings_counts():
    levels, rates = [0, 1, 2, 3, 4], [1, 0.4, 0.8, 0.2, 0.1]
    assert curves.critical_level(levels, rates) == 1
    assert curves.critical_level_interpolated(levels, rates) == pytest.approx(5 / 6)


def test_one_level_has_no_slope_and_no_area():
    for summary in (curves.slope, curves.auc, curves.normalised_auc):
        assert math.isnan(summary([0.0], [1.0]))
        assert np.isnan(summary([0.0], [[1.0], [0.5]])).all()
    assert curves.critical_level([0.0], [0.2]) == 0.0


@pytest.mark.parametrize(
    "summary",
    [curves.critical_level, curves.critical_level_interpolated, curves.slope, curves.auc, curves.normalised_auc],
)
def test_curve_summaries_take_replicates_at_once(summary):
    levels, rates = [0.2, 0.0, 0.1, 0.5], rng().random((4, 6, 4))
    together = summary(levels, rates)
    alone = [[summary(levels, curve) for curve in group] for group in rates]
    assert together.shape == (4, 6)
    np.testing.assert_allclose(together, alone)


def test_slope_agrees_with_least_squares():
    levels, rates = np.array([0, 0.01, 0.05, 0.2]), rng().random(4)
    assert curves.slope(levels, rates) == pytest.approx(np.polyfit(levels, rates, 1)[0])


def test_bootstrap_interval_of_the_critical_level_covers_it():
    # True rates 1 - level: the line crosses one half at 0.5, between two levels.
    levels, sims = np.array([0, 0.2, 0.4, 0.6, 0.8, 1.0]), 300
    successes = (rng(11).random((sims, 6, 10, 20)) < (1 - levels)[:, None, None]).astype(float)
    crossings = curves.critical_level_interpolated(levels, cluster_means(successes))
    interval = percentile_interval(np.where(np.isnan(crossings), np.inf, crossings))
    assert np.mean((interval.low <= 0.5) & (interval.high >= 0.5)) > 0.92


BAD_CALLS = [
    (lambda: curves.slope([0, 1], [1, 0.5, 0]), r"`rates` must be of shape \(..., 2\), got \(3,\)"),
    (lambda: curves.auc([0, 0], [1, 1]), r"`levels` must be distinct numbers, got \[0.0, 0.0\]"),
    (lambda: curves.critical_level([], []), "`levels` must be a list of numbers"),
]


@pytest.mark.parametrize(("call", "message"), BAD_CALLS, ids=[message for _, message in BAD_CALLS])
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
