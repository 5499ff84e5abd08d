"""Summaries, recovery, effects beyond chance, the proof, rankings."""

import math

import numpy as np
import pytest

from brittlestar.engine.behaviour import Layout
from brittlestar.errors import UserError
from brittlestar.statistics.effects import event_effect, paired_effect
from brittlestar.studies.stress.phases import cvar, recovery_episodes, summarise
from brittlestar.studies.stress.proof import same_actions
from brittlestar.studies.stress.ranking import pareto_front, reward_norm, robust_score
from brittlestar.studies.stress.scoring import Scored


def test_summary_by_hand():
    phases = ["pre", "pre", "shock", "shock", "post", "post"]
    channels = np.tile([[1.0], [0.8], [0.5], [0.3], [0.9], [0.7]], (1, 5))
    event = np.array([False, True, True, True, True, False])
    returns = np.array([10.0, 12.0, 4.0, 2.0, 9.0, 9.0])
    row = summarise(Scored(phases, returns, channels, channels[:, 0], 1 - channels[:, 0], event, 0.15, 0.6, True))
    expected = {
        "rate": 4 / 6, "rate_pre": 0.5, "rate_shock": 1.0, "rate_post": 0.5, "identity_drop": 0.5, "meaning_drop": 0.5,
        "return_drop": 8.0, "cvar_05": 2.0, "cvar_25": 2.0, "residual": 0.1, "competence_post": 0.8,
    }  # fmt: skip
    assert {name: row[name] for name in expected} == pytest.approx(expected)
    assert math.isnan(row["recovery_episodes"]), "one calm episode of two"


@pytest.mark.parametrize(
    ("n", "share", "worst"), [(40, 0.05, 2), (40, 0.25, 10), (41, 0.05, 3), (3, 0.05, 1), (20, 0.15, 3)]
)
def test_cvar_is_the_mean_of_the_worst(rng, n, share, worst):
    assert cvar(rng.permutation(float(n) + np.arange(n)), share) == pytest.approx(n + (worst - 1) / 2)
    assert math.isnan(cvar(np.zeros(0), share))


@pytest.mark.parametrize(
    ("events", "expected"), [("", math.nan), ("0", 0), ("1", math.nan), ("000", 0), ("1101000", 4), ("10010", math.nan)]
)
def test_recovery(events, expected):
    got = recovery_episodes(np.array([event == "1" for event in events], dtype=bool))
    assert got == pytest.approx(expected, nan_ok=True)


def test_interval_of_the_event_effect_covers(rng):
    """Paired events whose rates differ between seeds: 95 % intervals hold the true difference."""
    covered = rejected = 0
    for _ in range(400):
        clean = rng.random((5, 40)) < 0.05
        rates = np.clip(0.4 + 0.1 * rng.normal(size=(5, 1)), 0, 1)
        effect = event_effect(clean | (rng.random((5, 40)) < rates), clean)
        covered += effect.low <= 0.4 * 0.95 <= effect.high
        rejected += event_effect(rng.random((5, 40)) < 0.05, clean).p_value < 0.05
    assert covered >= 0.95 * 400 - 4 * math.sqrt(400 * 0.05 * 0.95)
    assert rejected <= 0.05 * 400 + 4 * math.sqrt(400 * 0.05 * 0.95)


def test_seeds_that_agree_by_chance_do_not_narrow_the_interval():
    effect = event_effect(np.ones((3, 10), dtype=bool), np.zeros((3, 10), dtype=bool))
    assert effect.difference == 1 == effect.high and 0.7 < effect.low < 0.95
    nothing = event_effect(np.zeros((3, 10), dtype=bool), np.zeros((3, 10), dtype=bool))
    assert nothing.p_value == 1 and nothing.low < 0 < nothing.high


def test_seeds_that_differ_widen_it():
    stressed = np.zeros((2, 50), dtype=bool)
    stressed[0] = True
    one, two = event_effect(stressed.reshape(1, -1), np.zeros((1, 100))), event_effect(stressed, np.zeros((2, 50)))
    assert one.p_value < 1e-6 < 0.3 < two.p_value and two.low == -1 < 0 < one.low


def test_paired_effect_of_a_score(rng):
    clean = rng.normal(size=(4, 30))
    effect = paired_effect(clean + 0.5 + 0.1 * rng.normal(size=clean.shape), clean, rng)
    assert effect.low < 0.5 < effect.high and effect.high - effect.low < 0.2 and effect.p_value < 0.01
    with pytest.raises(ValueError, match="the same episodes as with stress"):
        paired_effect(clean, clean[:, :-1], rng)


def test_proof_names_the_first_other_episode(table, make_discrete, rng):
    layout, episodes = Layout(actions=3), make_discrete(rng, 12)
    clean = table(layout, episodes)
    inverted = table(layout, [(a, r, -r, (1.0, 2.0)) for a, r, _, _ in episodes])
    proof = same_actions(clean, inverted)
    assert proof.proven and str(proof) == "cannot affect behaviour: identical actions in 12 of 12 episodes"
    episodes[5] = ((episodes[5][0] + 1) % 3, *episodes[5][1:])
    other = same_actions(clean, table(layout, episodes))
    assert (other.proven, other.different, other.first) == (False, 1, 5)
    assert same_actions(clean, table(layout, episodes), np.arange(12) != 5).proven


def test_proof_needs_the_same_episodes(table, make_discrete, rng):
    clean = table(Layout(actions=3), make_discrete(rng, 4))
    with pytest.raises(UserError, match="only the same episodes can be compared, got 4 of .* and 3 of"):
        same_actions(clean, clean.pick(slice(3)))
    with pytest.raises(UserError, match="no episodes to compare"):
        same_actions(clean, clean, np.zeros(4, dtype=bool))


def test_rankings():
    assert reward_norm(np.array([-200.0, -100.0, -125.0])).tolist() == [0.0, 1.0, 0.75]
    assert reward_norm(np.array([3.0, 3.0])).tolist() == [0.0, 0.0]
    assert robust_score(np.array([0.8]), np.array([0.5]), np.array([0.2])) == pytest.approx(0.44 + 0.15 + 0.03)
    # Twins do not beat each other.
    assert pareto_front(np.array([1.0, 1.0, 0.0]), np.array([0.5, 0.5, 0.5])).tolist() == [True, True, False]
