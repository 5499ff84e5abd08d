import numpy as np
import pytest

from brittlestar.engine.behaviour import Layout
from brittlestar.errors import UserError
from brittlestar.studies.stress.runs import same_actions


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
