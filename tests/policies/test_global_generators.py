"""Policies and environments that draw from the global generators of Python, NumPy and torch."""

import random
import subprocess
import sys

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium.envs.classic_control import CartPoleEnv

from brittlestar.engine.evaluation import run_episodes
from brittlestar.engine.plan import Plan
from brittlestar.engine.stack import Parts
from brittlestar.envs import EnvSpec
from brittlestar.policies import RandomPolicy
from brittlestar.policies.callables import as_policy
from brittlestar.policies.global_generators import global_states, used_generators


def by_python(observation):
    return random.randint(0, 1)


def by_numpy(observation):
    return int(np.random.rand() < 0.5)  # noqa: NPY002


def by_torch(observation):
    return int(torch.rand(1).item() < 0.5)


def late(observation):
    """Draws only in states that come after some steps."""
    return random.randint(0, 1) if abs(observation[2]) > 0.06 else int(observation[2] > 0)


class Exploring:
    """An object with a state that draws two numbers in some steps."""

    def __init__(self):
        self.steps = 0

    def predict(self, observation, deterministic=True):
        self.steps += 1
        if random.random() < 0.3:
            return np.random.randint(2), None  # noqa: NPY002
        return int(observation[2] + observation[3] > 0), None


POLICIES = {"python": by_python, "numpy": by_numpy, "torch": by_torch, "late": late, "object": Exploring()}


def roll(policy, lanes=16, env="CartPole-v1", seed=0, **plan):
    return run_episodes(EnvSpec(id=env), Parts(policy), Plan(episodes=20, seed=seed, **plan), lanes=lanes)


@pytest.mark.parametrize("kind", POLICIES)
def test_draws_from_global_generators_depend_on_seed_and_episode_alone(kind):
    returns = []
    for lanes in (1, 3, 16):
        # Whatever ran before: another cell, or another worker.
        random.seed(lanes), np.random.seed(lanes), torch.manual_seed(lanes)  # noqa: NPY002
        rows = roll(as_policy(POLICIES[kind], name="it"), lanes)
        assert rows.notes == []
        returns.append(rows.column("return").tolist())
    assert returns[0] == returns[1] == returns[2]
    assert len(set(returns[0])) > 5, "episodes differ"
    assert roll(as_policy(POLICIES[kind]), seed=1).column("return").tolist() != returns[0]


@pytest.mark.parametrize("kind", POLICIES)
def test_a_seeded_policy_leaves_the_global_generators_as_they_were_and_is_noted(kind):
    policy = as_policy(POLICIES[kind], name="it")
    roll(policy)
    before = global_states()
    roll(policy)
    assert used_generators(before) == []
    assert "global random generators are seeded for every call" in policy.notes[0]


def test_a_policy_that_draws_nothing_is_called_once_per_step_and_not_seeded():
    calls = []

    def calm(observation):
        calls.append(1)
        return int(observation[2] + observation[3] > 0)

    policy = as_policy(calm, name="it")
    rows = roll(policy, lanes=1)
    assert len(calls) == rows.column("length").sum() and "seeded" not in policy.notes[0]


def test_a_policy_that_imports_torch_in_its_first_call_draws_as_always():
    code = (
        "import sys\n"
        "def it(observation):\n"
        "    import torch\n"
        "    return int(torch.rand(1).item() < 0.5)\n"
        "from brittlestar import EnvSpec\n"
        "from brittlestar.engine.evaluation import run_episodes\n"
        "from brittlestar.engine.plan import Plan\n"
        "from brittlestar.engine.stack import Parts\n"
        "from brittlestar.policies.callables import as_policy\n"
        "assert 'torch' not in sys.modules\n"
        "rows = run_episodes(EnvSpec(id='CartPole-v1'), Parts(as_policy(it)), Plan(episodes=20), lanes=4)\n"
        "print(rows.column('return').tolist())"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == str(roll(as_policy(by_torch)).column("return").tolist())


class Noisy(CartPoleEnv):
    """An environment with noise of the global generator."""

    def step(self, action):
        observation, *rest = super().step(action)
        return (observation + np.random.normal(0, 0.01, 4)).astype(np.float32), *rest  # noqa: NPY002


gym.register("GlobalNoise-v0", Noisy, max_episode_steps=50)


@pytest.mark.parametrize("policy", [RandomPolicy(), as_policy(Exploring())])
def test_an_environment_that_draws_from_a_global_generator_is_noted(policy):
    (note,) = roll(policy, env="GlobalNoise-v0").notes
    assert "draws from the global generator of `numpy.random`, so the results depend on `lanes`" in note


def test_a_batched_policy_that_draws_from_a_global_generator_is_noted():
    policy = as_policy(lambda rows: (np.random.rand(len(rows)) < 0.5).astype(int), batched=True)  # noqa: NPY002
    (note,) = roll(policy).notes
    assert "`numpy.random`" in note
