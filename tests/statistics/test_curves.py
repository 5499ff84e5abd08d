from __future__ import annotations

import math

import numpy as np
import pytest

from brittlestar.statistics import curves
from brittlestar.statistics.intervals import percentile_interval, wilson
from brittlestar.statistics.resampling import cluster_means, plus_four, recentre


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


CURVES = {
    "logistic": lambda x: 1 / (1 + np.exp(60 * (x - 0.11))),
    "cliff": lambda x: np.where(x < 0.137, 1.0, 0.02),
    "shallow": lambda x: 0.95 - 2.8 * x,
    "floor and lapse": lambda x: 0.3 + 0.6 / (1 + np.exp(100 * (x - 0.08))),
    "bumped": lambda x: 1 / (1 + np.exp(60 * (x - 0.1))) + 0.3 * np.exp(-(((x - 0.2) / 0.02) ** 2)),
}
"""Success over levels from 0 to 0.3, of any shape between levels; each crosses one half within them."""
GRIDS = {
    "coarse": np.linspace(0, 0.3, 5),
    "uneven": np.array([0, 0.01, 0.05, 0.1, 0.3]),
    "fine": np.linspace(0, 0.3, 31),
}
FINE = np.linspace(0, 0.3, 30001)


@pytest.mark.parametrize("episodes", [20, 200])
@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("shape", CURVES)
def test_the_bracket_covers_the_crossing_of_a_curve_of_any_shape(shape, grid, episodes):
    """95 % less the Monte Carlo error of 2,000 sweeps; the bumped curve rises again, though not above one half."""
    curve, levels, sims = CURVES[shape], GRIDS[grid], 2000
    truth = FINE[np.argmax(curve(FINE) < 0.5)]
    successes = rng(11).binomial(episodes, curve(levels), size=(sims, len(levels)))
    low, high = curves.crossing_bracket(levels, *wilson(successes, episodes))
    # A bracket holds the crossing at its upper end, too: there the curve is below one half for the first time.
    assert np.mean((low <= truth) & (truth <= high)) >= 0.94
    if episodes == 200 and grid == "fine" and shape != "shallow":
        assert np.median(high - low) < 0.06, "many episodes at many levels enclose it closely"


def test_straight_lines_miss_the_crossing_of_a_cliff():
    """Why the interval of a crossing is a bracket: that of the bootstrap never covers it, however many episodes."""
    levels, curve = GRIDS["coarse"], CURVES["cliff"]
    successes = (rng(3).random((50, len(levels), 1, 400)) < curve(levels)[:, None, None]).astype(float)
    interval = percentile_interval(curves.critical_level_interpolated(levels, cluster_means(successes)))
    assert np.mean((interval.low <= 0.137) & (interval.high >= 0.137)) < 0.05


@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("shape", [name for name in CURVES if name != "bumped"])
def test_area_and_slope_cover_those_of_the_points_and_the_wider_area_that_of_the_curve(shape, grid):
    curve, levels, sims = CURVES[shape], GRIDS[grid], 300
    successes = (rng(5).random((sims, len(levels), 1, 100)) < curve(levels)[:, None, None]).astype(float)
    means = successes.mean(axis=(-1, -2))
    draws = recentre(cluster_means(with_four(successes)[:, :, None]), with_four(successes), means)
    for function in (curves.auc, curves.slope):
        interval, truth = percentile_interval(function(levels, draws)), function(levels, curve(levels))
        assert np.mean((interval.low <= truth + 1e-12) & (interval.high >= truth - 1e-12)) >= 0.91
    area, between = percentile_interval(curves.auc(levels, draws)), curves.auc_between(levels, means)
    truth = np.trapezoid(curve(FINE), FINE)
    assert np.mean((area.low - between <= truth) & (area.high + between >= truth)) >= 0.93


def with_four(successes):
    """Adds the pseudo-episodes of the tables."""
    falls = (np.arange(successes.shape[1]) < successes.shape[1] / 2).astype(float)
    return plus_four(
        successes[:, :, 0], np.stack([np.ones_like(falls), np.zeros_like(falls), falls, 1 - falls], axis=-1)
    )


def test_a_bracket_without_a_sure_level_is_open():
    assert curves.crossing_bracket([0.1, 0.2], [0.2, 0.6], [0.8, 0.9]) == (0.0, math.inf)
    assert curves.crossing_bracket([0.1, 0.2], [0.0, 0.0], [0.3, 0.1]) == (0.0, 0.1)
    assert curves.crossing_bracket([0.1, 0.2], [0.9, 0.7], [1.0, 0.9]) == (0.2, math.inf)
    # A level that is not sure ends the row, whatever lies behind it.
    assert curves.crossing_bracket([0, 1, 2, 3], [0.9, 0.4, 0.8, 0.1], [1, 0.6, 0.9, 0.2]) == (0.0, 3.0)


BAD_CALLS = [
    (lambda: curves.slope([0, 1], [1, 0.5, 0]), r"`rates` must be of shape \(..., 2\), got \(3,\)"),
    (lambda: curves.auc([0, 0], [1, 1]), r"`levels` must be distinct numbers, got \[0.0, 0.0\]"),
    (lambda: curves.critical_level([], []), "`levels` must be a list of numbers"),
]


@pytest.mark.parametrize(("call", "message"), BAD_CALLS, ids=[message for _, message in BAD_CALLS])
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
