"""Environments whose engine keeps a part of its state over `reset`: results must not depend on lanes."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

from brittlestar.engine.evaluation import run_episodes
from brittlestar.engine.plan import Plan
from brittlestar.engine.stack import Parts
from brittlestar.envs import EnvSpec
from brittlestar.envs.leftovers import keeps_state
from brittlestar.policies import RandomPolicy


class WarmStarted(gym.Env):
    """Rewards the steps since it was made, as a solver that is never reset would."""

    observation_space, action_space = spaces.Box(-1.0, 1.0, (1,)), spaces.Discrete(2)
    made = 0

    def __init__(self):
        self.total = 0
        type(self).made += 1

    def reset(self, *, seed=None, options=None):
        return np.zeros(1, np.float32), {}

    def step(self, action):
        self.total += 1
        return np.zeros(1, np.float32), float(self.total), False, False, {}


@pytest.fixture(params=["pybullet_envs_gymnasium.locomotion", "Box2D.mine", "panda_gym.envs.tasks"])
def warm(request, monkeypatch):
    monkeypatch.setattr(WarmStarted, "__module__", request.param)
    gym.register("WarmStarted-v0", WarmStarted, max_episode_steps=4)
    yield "WarmStarted-v0"
    del gym.registry["WarmStarted-v0"]


def values(env_id, lanes, **spec):
    env = EnvSpec(id=env_id, backend="gymnasium", **spec)
    return run_episodes(env, Parts(RandomPolicy()), Plan(episodes=6), lanes=lanes).values


def test_every_episode_has_an_environment_of_its_own(warm):
    assert keeps_state(gym.make(warm))
    WarmStarted.made = 0
    rows = [values(warm, lanes) for lanes in (1, 2, 6)]
    np.testing.assert_array_equal(rows[0], rows[1])
    np.testing.assert_array_equal(rows[0], rows[2])
    assert WarmStarted.made == 3 * 6, "and no more than that"


@pytest.mark.parametrize("env_id", ["CartPole-v1", "Pendulum-v1", "HalfCheetah-v5", "FetchReach-v4"])
def test_other_engines_forget(env_id):
    env = EnvSpec(id=env_id).make()
    assert not keeps_state(env)
    env.close()


@pytest.mark.parametrize(
    ("package", "env_id"),
    [("Box2D", "BipedalWalker-v3"), ("pybullet_envs_gymnasium", "AntBulletEnv-v0"), ("panda_gym", "PandaPush-v3")],
)
def test_real_engines_give_the_same_rows_in_any_number_of_lanes(package, env_id):
    pytest.importorskip(package)
    np.testing.assert_array_equal(values(env_id, 1, max_steps=60), values(env_id, 6, max_steps=60))
