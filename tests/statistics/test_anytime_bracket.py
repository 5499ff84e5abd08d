"""The bracket that holds at every look."""

import math

import numpy as np
import pytest

from brittlestar.statistics.anytime_bracket import anytime_bracket, mean_at_every_look
from brittlestar.statistics.trials import Trials

HALF = (0.5, 0.5)


def rng(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize("rates", [(1.0, 0.5, 0.5, 0.5, 0.0), (0.5, 0.5, 0.5, 0.5, 0.5), (0.9, 0.52, 0.48, 0.3, 0.1)])
def test_peeking_after_every_cell_excludes_the_crossing_in_at_most_5_percent(rates):
    levels, cells, sims, misses = np.array([0, 0.1, 0.2, 0.3, 0.4]), 40, 100, 0
    truths = [c for c in np.arange(0.05, 0.5, 0.1) if _agrees(levels, rates, c)]
    for seed in range(sims):
        draws = rng(seed)
        places = draws.integers(0, len(levels), cells)
        sums = draws.binomial(10, np.array(rates)[places])
        low, high = anytime_bracket(Trials.of(levels[places], sums, [10] * cells), HALF)
        # The bracket keeps the largest wealth of all looks so far.
        misses += not all(low < truth <= high for truth in truths)
    assert misses / sims <= 0.05 + 0.03


def _agrees(levels, rates, crossing):
    below, above = np.array(rates)[levels < crossing], np.array(rates)[levels >= crossing]
    return (below >= 0.5).all() and (above <= 0.5).all()


def test_a_cliff_is_bracketed_by_the_levels_on_either_side_with_few_outcomes():
    trials = Trials.of([0, 0.1, 0.12, 0.14, 0.2], [25, 25, 25, 0, 0], [25] * 5)
    assert anytime_bracket(trials, HALF) == (0.12, 0.14)


def test_a_curve_that_never_falls_or_is_below_at_0_has_an_open_bracket():
    assert anytime_bracket(Trials.of([0, 1], [40, 40], [40, 40]), HALF) == (1, math.inf)
    assert anytime_bracket(Trials.of([0, 1], [0, 0], [40, 40]), HALF) == (-math.inf, 0)


def test_a_contradiction_leaves_no_bracket():
    low, high = anytime_bracket(Trials.of([0, 1, 2, 3], [0, 50, 0, 50], [50] * 4), HALF)
    assert math.isnan(low) and math.isnan(high)


def test_the_mean_of_outcomes_in_0_1_is_inside_its_interval_at_every_look():
    inside = []
    for seed in range(100):
        totals = np.cumsum(rng(seed).beta(2, 1, 200))
        bounds = [mean_at_every_look(totals[i], i + 1) for i in range(4, 200, 30)]
        inside.append(all(low <= 2 / 3 <= high for low, high in bounds))
    assert np.mean(inside) >= 0.95


def test_a_goal_outside_of_0_1_is_refused():
    with pytest.raises(ValueError, match="`goal` must be between 0 and 1"):
        anytime_bracket(Trials.of([0], [1], [2]), (0.0, 0.5))
