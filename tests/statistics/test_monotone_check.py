"""Whether a curve that should fall rises: false alarms, and bumps that are found."""

import numpy as np
import pytest

from brittlestar.statistics.monotone_check import falling_fit, find_rise
from brittlestar.statistics.trials import Trials

LEVELS = np.repeat(np.linspace(0, 0.3, 16), 2)
FALLS, BUMP = 1 / (1 + np.exp(60 * (LEVELS - 0.11))), np.exp(-(((LEVELS - 0.22) / 0.02) ** 2))
FLOOR = 0.3 + 0.6 / (1 + np.exp(100 * (LEVELS - 0.08)))


def found(rates, runs, first=0):
    """Returns the share of simulated sweeps, 50 episodes a level, in which a rise is found."""
    rngs = [np.random.default_rng(seed) for seed in range(first, first + runs)]
    return np.mean([find_rise(Trials.of(LEVELS, rng.binomial(25, rates), [25] * 32), rng) is not None for rng in rngs])


def test_a_falling_curve_is_rarely_called_rising_and_a_bump_is():
    assert found(FALLS, 100) <= 0.03 and found(np.full(32, 0.5), 100) <= 0.04
    assert found(np.clip(FALLS + 0.6 * BUMP, 0, 1), 100) >= 0.95


def test_a_bump_of_a_third_is_found_in_most_sweeps():
    assert found(np.clip(FALLS + 0.3 * BUMP, 0, 1), 100) >= 0.7


@pytest.mark.slow
@pytest.mark.parametrize("rates", [FALLS, np.full(32, 0.5), np.full(32, 0.05), np.full(32, 0.9), FLOOR])
def test_false_alarms_have_the_promised_rate_in_1000_sweeps(rates):
    # 0.01, and two standard errors of the simulation; no setting was chosen on these seeds.
    assert found(rates, 1000, first=10_000) <= 0.0163


def test_the_falling_fit_is_the_average_of_neighbours_that_rise():
    rates, counts = np.array([[0.9, 0.2, 0.4, 0.1], [0.1, 0.2, 0.3, 0.4]]), np.array([10, 30, 10, 10])
    assert falling_fit(rates, counts) == pytest.approx(np.array([[0.9, 0.25, 0.25, 0.1], [14 / 60] * 4]))


def test_shares_that_vary_little_show_a_rise_that_as_many_successes_do_not():
    numbers = [0, 0.1, 0.2], [20, 8, 12], [25, 25, 25]
    assert find_rise(Trials.of(*numbers), np.random.default_rng(0)) is None
    rise = find_rise(Trials.of(*numbers, dispersion=0.05), np.random.default_rng(0))
    assert rise is not None and rise.second == (0.2, 0.2)
