"""Summaries, recovery, effects beyond chance, the proof, rankings."""

import math

import numpy as np
import pytest

from brittlestar.engine.behaviour import Layout
from brittlestar.errors import UserError
from brittlestar.studies.stress.phases import cvar, phase_summary, recovery_episodes
from brittlestar.studies.stress.ranking import pareto_front, reward_norm, robust_score
from brittlestar.studies.stress.runs import same_actions
from brittlestar.studies.stress.scoring import Scored


def test_summary_by_hand():
    phases = ["pre", "pre", "shock", "shock", "post", "post"]
    channels = np.tile([[1.0], [0.8], [0.5], [0.3], [0.9], [0.7]], (1, 5))
    event = np.array([False, True, True, True, True, False])
    returns = np.array([10.0, 12.0, 4.0, 2.0, 9.0, 9.0])
    row = phase_summary(Scored(phases, returns, channels, channels[:, 0], 1 - channels[:, 0], event, 0.15, 0.6, True))
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
