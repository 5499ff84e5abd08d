"""Sweeps that exist, compared by tests that hold at every look."""

import numpy as np
import pytest
from scipy.stats import binom

from brittlestar.errors import UserError
from brittlestar.results.sequential import PEEKING, compare_sequentially

NAMES = ("a", "b")


@pytest.fixture
def curve(make_cell):
    """Makes cells of a curve: strength to the success of 40 episodes of two seeds."""

    def make(rates, shift=0, **options):
        return [
            make_cell(np.arange(40) < 40 * rate, strength=strength, seed=seed + shift, **options)
            for strength, rate in rates.items()
            for seed in (0, 1)
        ]

    return make


def test_each_strength_is_a_race_at_its_share_of_alpha(curve):
    result = compare_sequentially(curve({0: 1, 0.1: 1, 0.2: 0}), curve({0: 1, 0.1: 0, 0.2: 1}), NAMES, None)
    assert [row["decision"] for row in result.levels] == ["none", "A", "B"]
    assert [row["pairs"] for row in result.levels] == [80, 9, 9]
    assert [row["shared_pairs"] for row in result.levels] == [80, 80, 80]
    assert result.verdict == (
        "A (a) is better at strength 0.1; B (b) is better at strength 0.2; not decided at 1 of 3 strengths"
    )
    low, high = result.levels[1]["low"], result.levels[1]["high"]
    assert 0 < low < result.levels[1]["difference"] == 1 <= high + 1e-9


def test_means_are_those_of_the_pairs_that_the_row_counts(make_cell):
    later = np.r_[np.zeros(20), np.ones(20)]
    a, b = [make_cell(np.ones(40), strength=0.1)], [make_cell(later, strength=0.1)]
    (row,) = compare_sequentially(a, b, NAMES, None).levels
    assert row["decision"] == "A" and row["pairs"] < 20 and (row["a"], row["b"]) == (1, 0)


def test_an_open_race_states_how_many_pairs_it_lacks(curve):
    (row,) = compare_sequentially(curve({0.1: 0.6}), curve({0.1: 0.5}), NAMES, None).levels
    assert row["decision"] == "A" or row["more_pairs"] > 0
    (row,) = compare_sequentially(curve({0.1: 0.6}), curve({0.1: 0.6}), NAMES, None).levels
    assert (row["decision"], row["more_pairs"]) == ("none", None)


def test_other_metrics_need_a_range(curve):
    sides = curve({0.1: 1}, **{"return": 3.0}), curve({0.1: 1}, **{"return": 1.0})
    with pytest.raises(UserError, match="the range of `return` is not known: add `--range LOW HIGH`"):
        compare_sequentially(*sides, NAMES, "return")
    with pytest.raises(UserError, match="`return` has values outside of"):
        compare_sequentially(*sides, NAMES, "return", (0, 2))
    (row,) = compare_sequentially(*sides, NAMES, "return", (0, 4)).levels
    assert row["decision"] == "A" and row["difference"] == 2


def test_the_seeds_that_both_sweeps_have_are_compared(curve):
    (row,) = compare_sequentially(curve({0.1: 1}), curve({0.1: 0}, shift=1), NAMES, None).levels
    assert row["shared_pairs"] == 40 and row["decision"] == "A"


def test_sweeps_without_shared_episodes_are_refused(curve):
    with pytest.raises(UserError, match="share no episodes: `--sequential` compares pairs"):
        compare_sequentially(curve({0.1: 1}), curve({0.1: 1}, shift=5), NAMES, None)


@pytest.mark.slow
def test_the_error_of_peeking_that_the_command_prints_is_measured():
    rates = []
    for share in (0.2, 0.5):
        signs = np.random.default_rng(0).choice([-1, 0, 1], p=[share / 2, 1 - share, share / 2], size=(10_000, 500))
        n, wins = np.cumsum(signs != 0, axis=1), np.cumsum(signs > 0, axis=1)
        p = 2 * binom.cdf(np.minimum(wins, n - wins), n, 0.5)
        rates.append(float((p < 0.05).any(axis=1).mean()))
    assert f"{rates[0]:.0%} to {rates[1]:.0%}".replace("%", " %").replace(" % to", " to") in PEEKING, rates
