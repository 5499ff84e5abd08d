"""The optimiser of a search on simulated policies."""

import numpy as np
import pytest

from brittlestar.studies.search.optimiser import draw_at_random, optimise
from brittlestar.studies.search.space import OFF, SearchSpace, Strength

PARTS = 8


def space_of(whole: int) -> SearchSpace:
    """Parts that break a policy alone at 4 steps, and at 1."""
    strengths = [Strength(f"p{i}", f"k{i}", 8.0 if i < whole else 2.0, i < whole) for i in range(PARTS)]
    return SearchSpace(strengths, [], np.array([4.0 if i < whole else 1.0 for i in range(PARTS)]))


def nearest(space, points, severity):
    """Runs a search where the share of failures is a logistic function of the severity, in steps of 1/50."""
    best, shares, count = np.inf, None, 0
    while True:
        try:
            batch = points.send(shares)
        except StopIteration:
            return best, count
        values = [space.values(point) for point in batch]
        exact = [1 / (1 + np.exp(-12 * (severity(space.shares(own)) - 1))) for own in values]
        shares = [round(50 * share) / 50 for share in exact]
        count += len(batch)
        best = min([best, *(space.distance(own) for own, s in zip(values, shares, strict=True) if s >= 0.5)])


@pytest.mark.parametrize("whole", [0, 3])
def test_parts_that_add_up_are_found_much_nearer_than_by_random_draws(whole):
    """The nearest combination is 1 / sqrt(8) = 0.354 away."""
    space = space_of(whole)
    for seed in range(3):
        searched, count = nearest(space, optimise(space, 150, seed, 0.5), np.sum)
        drawn, draws = nearest(space, draw_at_random(space, 150, seed), np.sum)
        assert count == draws == 150
        assert searched <= 0.7 * drawn and searched < 0.45


def test_the_search_is_the_same_for_the_same_seed_and_another_for_another():
    space = space_of(2)
    first, again, other = (nearest(space, optimise(space, 40, seed, 0.5), np.sum) for seed in (0, 0, 1))
    assert first == again != other


def test_values_are_whole_where_the_key_is_and_a_part_next_to_0_is_off():
    space = space_of(1)
    values = space.values(np.array([0.3, OFF / 2, *[0.5] * 6]))
    assert values["k0"] == 1 and isinstance(values["k0"], int) and values["k1"] == 0.0
    assert space.distance(values) == pytest.approx(np.sqrt(0.25**2 + 6 * 0.25))
