"""The test with a budget: its error, counted over all sequences of wins and losses, and what it costs to plan more."""

import itertools

import numpy as np
import pytest

from brittlestar.statistics.spending import first_crossing


@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.2])
@pytest.mark.parametrize("budget", [12, 30])
def test_the_error_over_all_sequences_is_at_most_alpha_and_close_to_it(alpha, budget):
    signs = np.array(list(itertools.product([-1, 1], repeat=12)))
    error = float((first_crossing(signs, alpha, budget) > 0).mean())
    allowed = alpha * 12 / budget
    assert error <= allowed
    assert error >= 0.3 * allowed or allowed < 2.0**-10


def test_equal_pairs_change_no_chance_whatever_their_places():
    rng = np.random.default_rng(0)
    places = np.sort(rng.permutation(20)[:10])
    signs = np.zeros((1024, 20))
    signs[:, places] = np.array(list(itertools.product([-1, 1], repeat=10)))
    assert (first_crossing(signs, 0.05, 20) > 0).mean() <= 0.05


def test_a_larger_budget_decides_later():
    wins = np.ones(30)
    stops = [int(first_crossing(wins, 0.05, budget)) for budget in (30, 100, 1000)]
    assert stops == sorted(stops) and stops[0] < stops[-1]
    assert first_crossing(-wins, 0.05, 30) == 0


def test_pairs_beyond_the_budget_are_refused():
    with pytest.raises(ValueError, match="at most 5 pairs"):
        first_crossing(np.ones(6), 0.05, 5)
