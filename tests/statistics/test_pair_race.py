"""Races of two: error rates with a look after every pair, pairs to a decision, and intervals that agree with it."""

import functools

import numpy as np
import pytest

from brittlestar.statistics.betting import log_e_values
from brittlestar.statistics.pair_race import BOTH, FIRST, PairRule, decide, e_values, interval_path, pairs_left
from brittlestar.statistics.spending import first_crossing

NEVER = 10**9
PUBLISHED = [
    (0.80, 0.28, 0.05, 15, 10),
    (0.92, 0.56, 0.05, 40, 21),
    (0.386, 0.084, 0.01, 60, 36),
    (0.564, 0.400, 0.01, 140, 131),
]
"""Success of both, alpha, budget, and the median of pairs to a decision of the best published sequential test."""
OPEN_MEDIANS = [13, 19, 36, 205]
"""Of the test without an end, with the sides of `first`, rounded up."""


def differences(a: float, b: float, shape: tuple[int, int], seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return (rng.random(shape) < a).astype(float) - (rng.random(shape) < b)


@functools.cache
def e_table(pairs: int) -> np.ndarray:
    """The log of the e-process by losses and wins: their order changes nothing."""
    rows = [np.repeat([-1.0, 1.0, 0.0], [losses, pairs, pairs - losses]) for losses in range(pairs + 1)]
    paths = np.concatenate([np.zeros((pairs + 1, 1)), log_e_values(rows)], axis=1)
    return np.array([path[losses : losses + pairs + 1] for losses, path in enumerate(paths)])


def stops(signs: np.ndarray, rule: PairRule) -> np.ndarray:
    """After which pair each run decides for the first, as `decide` does for one run."""
    if rule.budget is not None:
        crossing = first_crossing(signs, rule.tail, rule.budget)
        return np.where(crossing > 0, crossing, NEVER)
    wins, losses = np.cumsum(signs > 0, axis=1), np.cumsum(signs < 0, axis=1)
    is_over = e_table(signs.shape[1])[losses, wins] >= -np.log(rule.tail)
    return np.where(is_over.any(axis=1), is_over.argmax(axis=1) + 1, NEVER)


def errors(rate: float, rule: PairRule, runs: int, pairs: int) -> float:
    """How often equal policies give a verdict: either one, or "better"."""
    signs = differences(rate, rate, (runs, pairs))
    first = np.minimum(stops(signs, rule), stops(-signs, rule) if rule.sides == BOTH else NEVER)
    return float((first < NEVER).mean())


@pytest.mark.parametrize(
    "rule", [PairRule(), PairRule(sides=FIRST), PairRule(budget=60), PairRule(0.01, FIRST, 1.0, 60)]
)
def test_stops_are_those_of_decide(rule):
    signs = differences(0.7, 0.4, (25, 60))
    up, down = stops(signs, rule), stops(-signs, rule)
    for i, run in enumerate(signs):
        decision = decide(run, rule)
        assert decision.sign == (0 if up[i] == down[i] else 1 if up[i] < down[i] else -1)
        assert decision.pairs == min(up[i], down[i], 60)


@pytest.mark.parametrize("rate", [0.05, 0.5, 0.95])
@pytest.mark.parametrize("rule", [PairRule(), PairRule(sides=FIRST, budget=100)], ids=["open", "budget"])
def test_equal_policies_give_a_verdict_in_at_most_alpha_of_races(rate, rule):
    assert errors(rate, rule, 1000, 100) <= 0.05 + 0.01


@pytest.mark.slow
@pytest.mark.parametrize("rate", [0.05, 0.2, 0.5, 0.8, 0.95])
@pytest.mark.parametrize("alpha", [0.01, 0.05])
@pytest.mark.parametrize(("sides", "budget"), [(BOTH, None), (FIRST, None), (BOTH, 140), (FIRST, 140), (FIRST, 15)])
def test_equal_policies_give_a_verdict_in_at_most_alpha_of_10000_races(rate, alpha, sides, budget):
    rule = PairRule(alpha, sides, budget=budget)
    assert errors(rate, rule, 10_000, budget or 500) <= alpha


@pytest.mark.parametrize(("a", "b", "alpha", "budget", "most"), PUBLISHED[:3])
def test_a_race_with_a_budget_needs_no_more_pairs_than_the_best_published_test(a, b, alpha, budget, most):
    rule = PairRule(alpha, FIRST, budget=budget)
    assert np.median(stops(differences(a, b, (1500, budget)), rule)) <= most


@pytest.mark.slow
@pytest.mark.parametrize(("a", "b", "alpha", "budget", "most"), PUBLISHED)
def test_a_race_with_a_budget_needs_no_more_pairs_in_10000_races(a, b, alpha, budget, most):
    rule = PairRule(alpha, FIRST, budget=budget)
    assert np.median(stops(differences(a, b, (10_000, budget)), rule)) <= most


@pytest.mark.slow
@pytest.mark.parametrize(("case", "most"), list(zip(PUBLISHED, OPEN_MEDIANS, strict=True)))
def test_a_race_without_an_end_needs_about_as_many_and_more_for_small_differences(case, most):
    a, b, alpha = case[:3]
    median = np.median(stops(differences(a, b, (4000, 500)), PairRule(alpha, FIRST)))
    assert most - 12 <= median <= most


def test_shared_randomness_decides_sooner():
    rng = np.random.default_rng(0)
    shared = rng.random((400, 300))
    paired = (shared < 0.8).astype(float) - (shared < 0.65)
    apart = differences(0.8, 0.65, (400, 300))
    assert np.median(stops(paired, PairRule())) < 0.6 * np.median(stops(apart, PairRule()))


def test_the_interval_excludes_0_where_the_race_is_decided_and_only_there():
    for run in differences(0.7, 0.5, (40, 80)):
        decision = decide(run, PairRule())
        low, high = decision.interval
        assert (low > 0, high < 0) == (decision.sign > 0, decision.sign < 0)
        assert low <= decision.difference <= high


def test_pairs_after_the_decision_change_nothing():
    run = differences(0.9, 0.3, (1, 60))[0]
    decision = decide(run, PairRule())
    assert 0 < decision.pairs < 40
    assert decide(np.concatenate([run[: decision.pairs], -np.ones(30)]), PairRule()) == decision


def test_a_race_of_numbers_is_decided_in_their_unit():
    values = np.random.default_rng(0).normal(60, 100, 400).clip(-500, 500)
    decision = decide(values, PairRule(bound=500.0))
    assert decision.sign == 1 and 0 < decision.interval.low < 60 < decision.interval.high < 500


def test_equal_episodes_decide_nothing_and_narrow_the_interval():
    decision = decide(np.zeros(300), PairRule())
    assert decision.sign == 0 and decision.pairs == 300
    assert -0.02 < decision.interval.low < 0 < decision.interval.high < 0.02
    assert pairs_left(np.zeros(300), PairRule()) == np.inf
    assert decide([], PairRule()).interval == (-1, 1)


def test_the_forecast_of_pairs_is_of_the_right_size():
    rule = PairRule(0.05)
    runs = differences(0.6, 0.45, (300, 500))
    forecasts = [60 + pairs_left(run, rule) for run in runs[:, :60]]
    assert np.median(stops(runs, rule)) == pytest.approx(np.median(forecasts), rel=0.4)


def test_paths_end_at_the_last_pair_and_e_values_agree_with_them():
    run = differences(0.9, 0.5, (1, 50))[0]
    counts, intervals = interval_path(run, PairRule())
    up, down = e_values(run, PairRule())
    assert counts[0] == 1 and counts[-1] == 50 and len(counts) == len(intervals)
    for count, interval in zip(counts, intervals, strict=True):
        assert (interval.low > 0, interval.high < 0) == (up[count - 1] >= 40, down[count - 1] >= 40)


@pytest.mark.parametrize("settings", [{"alpha": 0.0}, {"alpha": 1.0}, {"bound": 0.0}, {"bound": np.inf}])
def test_bad_rules(settings):
    with pytest.raises(ValueError, match="must be"):
        PairRule(**settings)
