import numpy as np
import pytest

from brittlestar.engine.lanes import Lanes
from brittlestar.envs import EnvSpec


@pytest.mark.parametrize("env_id", ["CartPole-v1", "FrozenLake-v1", "FetchReach-v4", "Hopper-v5", "Blackjack-v1"])
def test_lanes_are_independent_environments(env_id):
    spec = EnvSpec(id=env_id)
    if env_id == "Blackjack-v1":
        with pytest.raises(Exception, match="Tuple spaces are not supported"):
            Lanes(spec, 1)
        return
    lanes, alone = Lanes(spec, 3), spec.make()
    for lane in range(3):
        lanes.reset(lane, seed=lane)
    action = np.array([lanes.action_space.sample() * 0] * 3)
    batch = lanes.step(action, active=np.array([0, 2]))
    for lane in (0, 2):
        alone.reset(seed=lane)
        observation, reward, *_ = alone.step(action[lane])
        assert batch.reward[lane] == reward
        if isinstance(observation, dict):
            for key, value in observation.items():
                assert np.array_equal(batch.observation[key][lane], value)
        else:
            assert np.array_equal(batch.observation[lane], observation)
    assert batch.infos[1] == {}


def test_a_lane_that_does_not_step_keeps_its_observation():
    lanes = Lanes(EnvSpec(id="CartPole-v1"), 2)
    for lane in range(2):
        lanes.reset(lane, seed=lane)
    before = lanes.observation.copy()
    after = lanes.step(np.array([0, 0]), active=np.array([1])).observation
    assert np.array_equal(before[0], after[0])
    assert not np.array_equal(before[1], after[1])


def test_an_observation_that_was_handed_out_is_never_changed():
    lanes = Lanes(EnvSpec(id="CartPole-v1"), 1)
    lanes.reset(0, seed=0)
    handed = lanes.observation
    copy = handed.copy()
    lanes.step(np.array([0]), active=np.array([0]))
    assert np.array_equal(handed, copy)


def test_resizing_reuses_environments():
    lanes = Lanes(EnvSpec(id="CartPole-v1"), 2)
    first = lanes.envs[0]
    lanes.resize(5)
    lanes.resize(1)
    assert lanes.envs[0] is first
    assert lanes.observation.shape == (1, 4)
    assert len(lanes.envs) == 5


def test_threads_help_native_simulators_only():
    assert Lanes(EnvSpec(id="Hopper-v5"), 2, threads=2)._threads == 2
    assert Lanes(EnvSpec(id="CartPole-v1"), 2, threads=2)._threads == 1
