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
