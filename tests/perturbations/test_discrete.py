import numpy as np
import pytest
from gymnasium import spaces

from brittlestar import PerturbedEnv
from brittlestar.engine.lanes import Lanes
from brittlestar.engine.plan import Plan
from brittlestar.engine.rollout import rollout
from brittlestar.engine.stack import Parts
from brittlestar.envs import EnvSpec
from brittlestar.errors import UserError
from brittlestar.perturbations import ConfusedObservation
from brittlestar.policies import RandomPolicy

STATES = np.tile(np.arange(5), (40, 100))


def test_another_state_is_shown_all_others_equally_often(play):
    space = spaces.Discrete(5)
    seen = play(ConfusedObservation(p=0.4), STATES, space=space)
    confused = seen != STATES
    assert confused.mean() == pytest.approx(0.4, abs=0.02)
    for state in range(5):
        shown, counts = np.unique(seen[confused & (state == STATES)], return_counts=True)
        assert shown.tolist() == [other for other in range(5) if other != state]
        np.testing.assert_allclose(counts / counts.sum(), 0.25, atol=0.05)


def test_states_that_do_not_start_at_zero(play):
    seen = play(ConfusedObservation(p=1.0), STATES - 3, space=spaces.Discrete(5, start=-3))
    assert (seen != STATES - 3).all()
    assert (seen.min(), seen.max()) == (-3, 1)


def test_several_states_at_once(play):
    truth = np.zeros((40, 50, 2), np.int64)
    seen = play(ConfusedObservation(p=0.5), truth, space=spaces.MultiDiscrete([2, 7]))
    assert seen.reshape(-1, 2).max(axis=0).tolist() == [1, 6]
    np.testing.assert_allclose((seen != 0).mean(axis=(0, 1)), 0.5, atol=0.05)


def test_strength_seed_dtype_and_nesting(play):
    space, truth = spaces.Discrete(5), STATES.astype(np.int32)
    assert np.array_equal(play(ConfusedObservation(p=0.0), truth, space=space), truth)
    one, two, other = (play(ConfusedObservation(p=0.5), truth, space=space, seed=seed) for seed in (0, 0, 1))
    assert one.dtype == np.int32
    assert np.array_equal(one, two)
    assert not np.array_equal(one, other)
    more = play(ConfusedObservation(p=0.9), truth, space=space)
    assert np.array_equal(more[one != truth], one[one != truth])
    alone = play(ConfusedObservation(p=0.5), truth[:, [7]], space=space, episodes=[7])
    assert np.array_equal(alone[:, 0], one[:, 7])


def test_real_environments_are_confused_as_often_as_asked():
    env = PerturbedEnv(EnvSpec(id="FrozenLake-v1").make(), ConfusedObservation(p=1.0))
    seen, info = env.reset(seed=0)
    assert seen in env.observation_space
    assert seen != info["true_observation"]
    lanes = Lanes(EnvSpec(id="FrozenLake-v1"), count=16)
    rows = rollout(lanes, Parts(RandomPolicy(), ConfusedObservation(p=0.25)), Plan(episodes=200))
    share = np.average(rows.column("observation_touched"), weights=rows.column("length"))
    assert share == pytest.approx(0.25, abs=0.06)


def test_bad_parameters_and_spaces():
    with pytest.raises(ValueError, match=r"`p` must be in \[0, 1\], got 1\.1"):
        ConfusedObservation(p=1.1)
    box = spaces.Box(-1, 1, (2,))
    with pytest.raises(UserError, match="needs a Discrete or MultiDiscrete observation, the observation is Box"):
        ConfusedObservation(p=0.1).bind(box, box, lanes=1)
    with pytest.raises(UserError, match=r"needs at least 2 states to choose from, got Discrete\(1\)"):
        ConfusedObservation(p=0.1).bind(spaces.Discrete(1), box, lanes=1)
