"""The confidence sequence of one rate: worked values, and its coverage at all looks together."""

import numpy as np
import pytest

from brittlestar.statistics.intervals import wilson
from brittlestar.statistics.rate_sequence import rate_sequence


def misses(rate: float, runs: int, looks: int, interval) -> float:
    """How often an interval has missed the rate at any look."""
    k = np.cumsum(np.random.default_rng(0).random((runs, looks)) < rate, axis=1)
    n = np.arange(1, looks + 1)
    # Of every number of successes at every look, once.
    low, high = interval(np.minimum(np.arange(looks + 1), n[:, None]), n[:, None])
    is_missed = (low > rate) | (high < rate)
    return float(is_missed[np.arange(looks), k].any(axis=1).mean())


def test_no_and_all_successes_reach_the_ends():
    assert rate_sequence(0, 10).low == 0
    assert rate_sequence(10, 10).high == 1
    assert rate_sequence(0, 10).high == pytest.approx(1 - rate_sequence(10, 10).low)


def test_it_takes_arrays_and_narrows():
    low, high = rate_sequence([8, 80, 800], [10, 100, 1000])
    assert np.all(np.diff(high - low) < 0)
    assert rate_sequence(80, 100) == pytest.approx((low[1], high[1]))
    assert low[1] < wilson(80, 100).low and high[1] > wilson(80, 100).high


@pytest.mark.parametrize("rate", [0.05, 0.6])
def test_it_misses_the_rate_at_any_look_in_at_most_alpha_of_runs(rate):
    assert misses(rate, 400, 100, rate_sequence) <= 0.05


def test_wilson_looked_at_after_every_episode_does_not_hold():
    assert misses(0.5, 300, 200, wilson) > 0.2


@pytest.mark.slow
@pytest.mark.parametrize("rate", [0.01, 0.05, 0.3, 0.5, 0.8, 0.95])
def test_it_misses_the_rate_at_any_of_500_looks_in_at_most_alpha_of_10000_runs(rate):
    assert misses(rate, 10_000, 500, rate_sequence) <= 0.05


@pytest.mark.parametrize(("k", "n", "alpha"), [(11, 10, 0.05), (1, 0, 0.05), (1, 2, 1.0)])
def test_bad_inputs(k, n, alpha):
    with pytest.raises(ValueError, match="must be"):
        rate_sequence(k, n, alpha)
