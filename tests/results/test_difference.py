from __future__ import annotations

import numpy as np
import pytest
from scipy import stats as scipy_stats

from brittlestar.results.difference import Sides, curve_difference
from brittlestar.results.ranges import EVENT
from brittlestar.statistics.intervals import t_interval


def binary(k: int, n: int = 10) -> list[float]:
    return [1.0] * k + [0.0] * (n - k)


def test_the_interval_is_students_over_seeds():
    by_seed = np.array([[9, 5], [8, 7], [6, 2], [9, 1]]) / 10
    a, b = (np.array([[binary(round(10 * k)) for k in side]]) for side in by_seed.T)
    row = curve_difference(Sides([0.0], a, b, paired=True, span=EVENT))
    expected = t_interval(by_seed[:, 0] - by_seed[:, 1])
    assert (row["low"], row["high"]) == pytest.approx((expected.low, expected.high))
    welch = scipy_stats.ttest_ind(*by_seed.T, equal_var=False).confidence_interval()
    row = curve_difference(Sides([0.0], a, b, paired=False, span=EVENT))
    assert (row["low"], row["high"]) == pytest.approx((welch.low, welch.high))


def alarms(seeds: int, spread: float, paired: bool, runs: int = 200, episodes: int = 20) -> float:
    """How often the verdict names a winner although both sides have the same rates.

    Args:
        seeds: per side.
        spread: standard deviation of a seed's own log odds, drawn again for each side.
        paired: half of the luck of an episode is shared by both sides.
        runs: simulated comparisons.
        episodes: per seed.
    """
    random = np.random.default_rng([seeds, int(spread), paired])
    levels = np.array([0, 0.1, 0.2, 0.3])
    false_alarms = 0
    for _ in range(runs):
        shared = random.random((seeds, episodes))
        sides = []
        for _ in "ab":
            own = random.random((seeds, episodes))
            luck = np.where(random.random(own.shape) < 0.5 * paired, shared, own)
            odds = 15 * (0.15 - levels[:, None]) + spread * random.standard_normal(seeds)
            sides.append((luck < (1 / (1 + np.exp(-odds)))[..., None]).astype(float))
        row = curve_difference(Sides(levels.tolist(), *sides, paired, span=EVENT))
        false_alarms += not row["low"] <= 0 <= row["high"]
    return false_alarms / runs


@pytest.mark.parametrize("paired", [True, False])
def test_false_alarms_when_three_seeds_differ(paired):
    """Measured over 300 runs: 4 % paired and 2 % unpaired, where a percentile bootstrap of seeds gives 15 and 13 %."""
    assert alarms(3, 1, paired) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 200)


@pytest.mark.slow
@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize("spread", [0, 1])
@pytest.mark.parametrize("seeds", [1, 2, 3, 5, 10])
def test_false_alarms(seeds, spread, paired):
    """Measured over 300 runs: 0 to 3 % when seeds do not differ (6 % for one unpaired seed), 2 to 6 % when they do."""
    if seeds == 1 and spread:
        pytest.skip("one seed does not show how seeds differ, and the method names it")
    assert alarms(seeds, spread, paired, runs=500) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 500)


def test_a_real_difference_is_detected():
    random = np.random.default_rng(1)
    a, b = (random.random((3, 5, 40)) < rate for rate in (0.9, 0.6))
    row = curve_difference(Sides([0.0, 0.1, 0.2], a.astype(float), b.astype(float), paired=False, span=EVENT))
    assert 0 < row["low"] < 0.3 < row["high"]


def test_one_episode_is_named_in_the_singular():
    one = np.array([[[1.0]]])
    assert "bootstrap over 1 episode, " in curve_difference(Sides([0.0], one, one, paired=True, span=EVENT))["method"]
    assert "over 1 + 1 episodes, " in curve_difference(Sides([0.0], one, one, paired=False, span=EVENT))["method"]
