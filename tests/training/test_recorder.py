import gymnasium as gym
import numpy as np
import pytest

from brittlestar.config.build import load
from brittlestar.engine.plan import Plan
from brittlestar.engine.stack import Parts
from brittlestar.envs import EnvSpec
from brittlestar.errors import UserError
from brittlestar.perturbations import GaussianObservation
from brittlestar.policies import RandomPolicy
from brittlestar.randomness import reset_seeds
from brittlestar.training.recorder import RECORDED_SEEDS, record_episodes, record_policy

SPEC = EnvSpec(id="CartPole-v1", backend="gymnasium", lanes=3)


def test_a_recording_replays_in_the_environment():
    episodes, rows = record_policy(SPEC, RandomPolicy(), 7, seed=1)
    env = gym.make("CartPole-v1")
    for episode, seed in zip(episodes, reset_seeds(1 + RECORDED_SEEDS, 7), strict=True):
        observation, _ = env.reset(seed=seed)
        for seen, action, reward in zip(episode.observations, episode.actions, episode.rewards, strict=True):
            np.testing.assert_array_equal(seen, observation)
            observation, value, terminated, _, _ = env.step(action)
            assert value == reward
        assert terminated
    assert [len(episode) for episode in episodes] == rows.column("length").tolist()


@pytest.mark.parametrize("lanes", [1, 4])
def test_lanes_do_not_change_a_recording(lanes):
    spec = EnvSpec(id="CartPole-v1", backend="gymnasium", lanes=lanes)
    ours, theirs = record_policy(spec, RandomPolicy(), 5, seed=0)[0], record_policy(SPEC, RandomPolicy(), 5, seed=0)[0]
    assert all(np.array_equal(a.observations, b.observations) for a, b in zip(ours, theirs, strict=True))


def test_start_states_are_not_those_of_a_sweep_with_the_same_seed():
    assert not set(reset_seeds(RECORDED_SEEDS, 50)) & set(reset_seeds(0, 50))


def test_episodes_are_passed_on_in_order_while_others_run():
    passed = []

    def keep(episode):
        passed.append(len(episode))

    rows = record_episodes(SPEC, Parts(RandomPolicy()), Plan(9, seed=0), keep)
    assert passed == rows.column("length").tolist()


def test_a_recording_under_noise_holds_what_the_policy_saw():
    clean, noisy = [], []
    plan = Plan(3, seed=0)
    record_episodes(SPEC, Parts(RandomPolicy()), plan, clean.append)
    record_episodes(SPEC, Parts(RandomPolicy(), GaussianObservation(sigma=0.5, scale="std")), plan, noisy.append)
    assert len(noisy) == 3
    for a, b in zip(clean, noisy, strict=True):
        # Random actions do not depend on what is seen.
        np.testing.assert_array_equal(a.actions, b.actions)
        assert np.abs(a.observations - b.observations).min(axis=0).max() > 0


def test_a_policy_is_not_recorded_in_another_environment_than_its_own():
    with pytest.raises(UserError, match="zoo/pendulum_sac was trained in Pendulum-v1, not in CartPole-v1"):
        record_policy(EnvSpec(id="CartPole-v1"), load("policy", "zoo/pendulum_sac"), 1, seed=0)
