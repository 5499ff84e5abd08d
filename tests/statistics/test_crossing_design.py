"""Standard errors of designs, the grid that equals a search, and paired differences of crossings."""

import numpy as np
import pytest

from brittlestar.statistics.crossing_design import (
    Estimate,
    crossing_error,
    grid_episodes,
    paired_difference,
    residuals,
)
from brittlestar.statistics.falling_curve import fit_crossing
from brittlestar.statistics.trials import Threshold, Trials

LEVELS = np.array([0, 0.09, 0.1, 0.11, 0.12, 0.13])


def logistic(x):
    return 1 / (1 + np.exp(60 * (x - 0.11)))


def fitted(count=200):
    trials = Trials.of(LEVELS, count * logistic(LEVELS), [count] * len(LEVELS))
    return fit_crossing(trials, Threshold(0.5), (0.01, 0.3)), trials


def test_the_error_is_that_of_a_logistic_location():
    fit, trials = fitted()
    ideal = 2 / (60 * np.sqrt(5 * 200 * 0.88))
    assert 0.95 * ideal < crossing_error(fit, trials) < 1.3 * ideal


def test_a_grid_of_its_number_of_episodes_has_the_same_error():
    fit, trials = fitted()
    each = grid_episodes(fit, trials, width=0.1) // 11
    grid = np.linspace(0, 2 * fit.estimate, 11)
    errors = crossing_error(fit, trials), crossing_error(fit, Trials.of(grid, [0] * 11, [each] * 11))
    assert errors[1] == pytest.approx(errors[0], rel=0.05) and 11 * each > 2 * trials.total


def test_outcomes_move_the_estimate_by_what_their_residuals_sum_to():
    fit, trials = fitted()
    outcomes = [np.array([1.0] * int(s) + [0.0] * int(200 - s)) for s in trials.sums]
    before = sum(part.sum() for part in residuals(fit, LEVELS, outcomes))
    outcomes[3][-10:] = 1.0
    moved = sum(part.sum() for part in residuals(fit, LEVELS, outcomes)) - before
    sums = trials.sums + np.array([0, 0, 0, 10, 0, 0])
    after = fit_crossing(Trials.of(LEVELS, sums, trials.counts), Threshold(0.5), (0.01, 0.3)).estimate
    assert moved == pytest.approx(after - fit.estimate, rel=0.35) and moved > 0


def test_shared_episodes_narrow_the_interval_of_a_difference_and_keep_its_coverage():
    """Normal estimates with correlation: MOVER is exact up to Monte Carlo error."""
    draws = np.random.default_rng(0).multivariate_normal([0.3, 0.2], [[1e-4, 8e-5], [8e-5, 1e-4]], size=4000)
    inside = []
    for a, b in draws:
        value = paired_difference(Estimate(a, a - 0.0196, a + 0.0196), Estimate(b, b - 0.0196, b + 0.0196), 0.8)
        inside.append(value.low <= 0.1 <= value.high)
    assert abs(np.mean(inside) - 0.95) < 0.012
    assert value.high - value.low < 0.5 * 2 * 0.0196 * np.sqrt(2)
