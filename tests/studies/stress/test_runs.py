import numpy as np
import pytest

from brittlestar.engine.behaviour import Layout
from brittlestar.errors import UserError
from brittlestar.studies.stress.runs import same_actions


def test_only_another_action_in_a_masked_episode_counts(table, make_discrete, rng):
    layout, episodes, mask = Layout(actions=3), make_discrete(rng, 12), np.ones(12, dtype=bool)
    clean = table(layout, episodes)
    inverted = table(layout, [(a, r, -r, (1.0, 2.0)) for a, r, _, _ in episodes])
    assert same_actions(clean, inverted, mask)
    episodes[5] = ((episodes[5][0] + 1) % 3, *episodes[5][1:])
    assert not same_actions(clean, table(layout, episodes), mask)
    assert same_actions(clean, table(layout, episodes), np.arange(12) != 5)


def test_proof_needs_the_same_episodes(table, make_discrete, rng):
    clean = table(Layout(actions=3), make_discrete(rng, 4))
    with pytest.raises(UserError, match="only the same episodes can be compared, got 4 of .* and 3 of"):
        same_actions(clean, clean.pick(slice(3)), np.ones(4, dtype=bool))
