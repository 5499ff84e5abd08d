"""The crossing of a falling curve from a fit: worked values, and the coverage of its interval on any design."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from brittlestar.statistics.falling_curve import fit_crossing
from brittlestar.statistics.trials import Threshold, Trials

spec = importlib.util.spec_from_file_location("falling_curves", Path(__file__).with_name("falling_curves.py"))
curves = importlib.util.module_from_spec(spec)
spec.loader.exec_module(curves)
BOUNDS = (0.003, 0.6)


def fit(levels, rates, count, threshold=curves.HALF):
    return fit_crossing(
        Trials.of(levels, np.round(np.asarray(rates) * count), [count] * len(levels)), threshold, BOUNDS
    )


@pytest.mark.parametrize("count", [40, 400, 40_000])
def test_the_interval_has_the_width_of_the_information_at_any_number_of_outcomes(count):
    levels = np.concatenate([[0, 0.025, 0.05, 0.2], np.linspace(0.09, 0.13, 9)])
    found = fit(levels, curves.CURVES["logistic"](levels), count)
    low, high = found.interval([*levels, found.estimate])
    # 98 % of a logistic location with slope 60, and a little for floor, lapse and skewness.
    ideal = 2 * 2.33 * 2 / (60 * np.sqrt(9 * count * 0.85))
    assert low < 0.11 < high and 0.9 * ideal < high - low < 1.8 * ideal


def test_no_shape_narrows_the_gap_between_two_levels_on_either_side_of_a_cliff():
    levels = [0, 0.1, 0.13, 0.15, 0.2]
    assert fit(levels, curves.CURVES["cliff"](np.array(levels)), 1000).interval(levels) == (0.13, 0.15)


def test_a_share_of_the_value_at_0_is_crossed_where_half_of_it_is_left():
    levels = np.linspace(0, 0.3, 13)
    curve = 0.8 / (1 + np.exp(60 * (levels - 0.11)))
    assert abs(fit(levels, curve, 2000, Threshold(0.5, relative=True)).estimate - 0.11) < 0.002
    assert fit(levels, curve, 2000).estimate < 0.108, "a rate of one half is crossed earlier"


def test_outcomes_on_a_bump_far_away_hardly_move_the_crossing():
    """As in a search: few outcomes at the first levels, many around the crossing."""
    levels = np.concatenate([[0, 0.025, 0.05, 0.2], np.linspace(0.1, 0.12, 9)])
    counts, rates = np.repeat([25, 100], [4, 9]), curves.CURVES["logistic"](levels)
    plain, bumped = (
        fit_crossing(Trials.of(levels, y * counts, counts), curves.HALF, BOUNDS)
        for y in (rates, np.where(levels == 0.2, 0.3, rates))
    )
    low, high = plain.interval([*levels, plain.estimate])
    assert abs(bumped.estimate - plain.estimate) < 0.05 * (high - low)


def test_the_grid_holds_the_posterior_of_a_share_of_a_value_that_is_known_well():
    """Many clean episodes with returns that hardly vary: a coarse grid of lapses had cut the crossings off."""
    levels = np.array([0, *np.linspace(0.14, 0.5, 12)])
    sums, counts = 0.96 / (1 + (levels / 0.45) ** 1.8), np.where(levels == 0, 450, 100)
    found = fit_crossing(Trials.of(levels, sums * counts, counts, 0.3), Threshold(0.8, relative=True), BOUNDS)
    assert max(found.masses[0], found.masses[-1]) < 0.01 * found.masses.max()
    assert found.interval(levels).low < 0.45 * 0.25 ** (1 / 1.8) < found.interval(levels).high


def test_an_end_in_a_gap_where_the_curve_falls_steeply_is_a_level():
    """Levels inside the interval say nothing about where between two others a cliff is."""
    found = fit([0, 0.1, 0.13, 0.131, 0.15, 0.2], [0.92, 0.92, 0.92, 0.88, 0.04, 0], 25, Threshold(0.8))
    assert found.interval([0, 0.1, 0.13, 0.131, 0.15, 0.2]).high == 0.15


def test_outcomes_that_vary_less_than_successes_give_a_narrower_interval():
    levels = np.linspace(0, 0.3, 13)
    sums = 100 * curves.CURVES["logistic"](levels)
    wide, narrow = (
        fit_crossing(Trials.of(levels, sums, [100] * 13, share), curves.HALF, BOUNDS) for share in (1.0, 0.1)
    )
    widths = [np.subtract(*reversed(found.interval([*levels, found.estimate]))) for found in (wide, narrow)]
    assert 2.5 < widths[0] / widths[1] < 4


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Trials.of([0, -1], [1, 1], [2, 2]), "`levels` must be at least 0"),
        (lambda: Trials.of([0, 1], [3, 1], [2, 2]), "`sums` must be between 0 and the count"),
        (lambda: Trials.of([0, 1], [1], [2, 2]), "`sums` must be one per level"),
        (lambda: fit([0, 1], [1, 0], 10, Threshold(1.0)), "`threshold` must be between 0 and 1"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
