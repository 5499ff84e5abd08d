"""Pairs of contestants: who leaves, who goes on, and the error rate of a race of several."""

import numpy as np
import pytest

from brittlestar.errors import UserError
from brittlestar.statistics.pair_race import FIRST, PairRule
from brittlestar.studies.race.contestants import Contestant, RaceField
from brittlestar.studies.race.duels import RaceMetric, duels_of, losers, runners

SUCCESS = RaceMetric("success_final", 0.0, 1.0, is_event=True)
BATCH = 20


@pytest.fixture
def field(make_cell):
    """Makes a race from the success of every episode of each contestant, in batches."""

    def make(*outcomes, failed=(), shift=0):
        entries = []
        for i, values in enumerate(outcomes):
            parts = np.split(np.asarray(values, float), range(BATCH, len(values), BATCH)) if len(values) else []
            cells = [make_cell(part, seed=seed + shift * i) for seed, part in enumerate(parts)]
            entries.append(Contestant(f"policy {i}", cells, i in failed))
        return RaceField("noise", entries)

    return make


def draw(rates, episodes: int, seed: int = 0) -> list[np.ndarray]:
    return list((np.random.default_rng(seed).random((len(rates), episodes)) < np.array(rates)[:, None]).astype(float))


def test_a_loser_leaves_and_the_others_go_on(field):
    race = field(np.ones(20), np.ones(20), np.zeros(20))
    duels = duels_of(race, SUCCESS, PairRule(0.05 / 3), 0.02, None)
    assert [(duel.first, duel.second) for duel in duels] == [(0, 1), (0, 2), (1, 2)]
    assert losers(duels) == {2}
    assert runners(race, duels, None) == {0, 1}
    assert duels[1].wins == (duels[1].decision.pairs, 0) and duels[1].decision.pairs < 20


def test_a_race_against_a_reference_ends_for_each_challenger_alone(field):
    race = field(np.ones(20), np.zeros(20), np.ones(20) * np.arange(20) % 2)
    duels = duels_of(race, SUCCESS, PairRule(0.025, FIRST), 0.02, 1)
    assert [(duel.first, duel.second) for duel in duels] == [(0, 1), (2, 1)]
    assert [duel.decision.sign for duel in duels] == [1, 1] and runners(race, duels, 1) == set()
    worse = field(np.zeros(20), np.ones(20))
    assert duels_of(worse, SUCCESS, PairRule(0.05, FIRST), 0.02, 1)[0].decision.sign == -1


def test_equal_contestants_are_alike_after_enough_pairs(field):
    few, many = (duels_of(field(*[np.ones(n)] * 2), SUCCESS, PairRule(), 0.02, None)[0] for n in (100, 320))
    assert not few.is_settled and many.is_alike and many.is_settled
    assert runners(field(*[np.ones(320)] * 2), [many], None) == set()


def test_a_failed_contestant_leaves(field):
    race = field(np.ones(20), np.ones(20), np.ones(0), failed=[2])
    assert runners(race, duels_of(race, SUCCESS, PairRule(), 0.0, None), None) == {0, 1}


def test_less_may_be_better(field):
    scale = RaceMetric("success_final", 0.0, 1.0, is_event=True, sign=-1)
    assert losers(duels_of(field(np.ones(20), np.zeros(20)), scale, PairRule(), 0.02, None)) == {0}


def test_values_outside_of_the_range_and_other_start_states_are_refused(field):
    with pytest.raises(UserError, match="`success_final` of policy 0 is 1 in an episode, outside of"):
        duels_of(field(np.ones(4), np.zeros(4)), RaceMetric("success_final", 0.0, 0.5, True), PairRule(), 0.0, None)
    with pytest.raises(UserError, match="policy 1 and policy 0 do not share their start states"):
        duels_of(field(np.ones(4), np.zeros(4), shift=1), SUCCESS, PairRule(), 0.0, None)


def test_pairs_without_a_value_are_left_out(field):
    duel = duels_of(field([1, np.nan, 1, 1], [0, 0, np.nan, 1]), SUCCESS, PairRule(), 0.0, None)[0]
    assert duel.differences.tolist() == [1, 0] and duel.missing == 2


def test_a_fixed_design_needs_more_pairs_for_smaller_differences(field):
    plain, close = (duels_of(field(*draw(r, 200)), SUCCESS, PairRule(), 0.0, None)[0] for r in ((0.9, 0.3), (0.6, 0.4)))
    assert 10 < plain.fixed_pairs(True) < close.fixed_pairs(True) < 300
    assert close.decision.sign == 0 or plain.decision.pairs < close.decision.pairs


@pytest.mark.slow
@pytest.mark.parametrize("rates", [(0.5, 0.5, 0.5), (0.8, 0.5, 0.5), (0.1, 0.1, 0.1, 0.1)])
def test_the_chance_of_any_wrong_verdict_of_a_race_of_several_is_at_most_alpha(field, rates):
    races, errors, pairs = 400, 0, len(rates) * (len(rates) - 1) // 2
    for seed in range(races):
        values, out = draw(rates, 120, seed), set()
        lengths = [0] * len(rates)
        for _ in range(6):
            lengths = [n if i in out else n + BATCH for i, n in enumerate(lengths)]
            race = field(*(own[:n] for own, n in zip(values, lengths, strict=True)))
            duels = duels_of(race, SUCCESS, PairRule(0.05 / pairs), 0.0, None)
            out = losers(duels)
        wrong = [d for d in duels if d.decision.sign * np.sign(rates[d.first] - rates[d.second]) < d.decision.sign**2]
        errors += bool(wrong)
    assert errors / races <= 0.05
