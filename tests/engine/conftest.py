"""An environment that counts, and a policy that moves by a fixed sequence."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

from brittlestar.engine.lanes import Lanes
from brittlestar.engine.metrics import COLUMNS
from brittlestar.engine.plan import Plan
from brittlestar.engine.rollout import rollout
from brittlestar.envs import EnvSpec, Returns, Signals
from brittlestar.envs.success import InfoKey
from brittlestar.policies import Policy


class Counter(gym.Env):
    """Counts to `length`; shows the time, pays 1 a step, gives info keys; 1-D action is an increment."""

    observation_space = spaces.Box(-np.inf, np.inf, (2,), np.float64)
    action_space = spaces.Box(-1.0, 1.0, (2,), np.float32)

    def __init__(self, length=4, nan_at=None):
        self.length, self.nan_at = length, nan_at

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.time, self.place = 0, np.array([float(self.np_random.integers(5)), 0.0])
        return self.place.copy(), {}

    def step(self, action):
        self.time += 1
        self.place = self.place + action
        seen = self.place * (np.nan if self.time == self.nan_at else 1)
        info = {"is_success": self.time in (2, 3), "progress": self.time / self.length, "hit": self.time == 1}
        return seen, 1.0, self.time == self.length, False, info


gym.register("Counter-v0", Counter)


class Scripted(Policy):
    """Moves by a fixed sequence."""

    moves = np.array([[1.0, 0.0], [0.0, 0.5], [-1.0, 0.0], [0.0, 0.0]])

    def bind(self, observation_space, action_space, draws):
        self.time = None

    def predict(self, observation, state=None, episode_start=None, deterministic=True):
        time = np.where(episode_start, 0, 0 if state is None else state)
        return self.moves[time], time + 1


def run_rows(spec, parts, episodes=5, lanes=2, seed=0, **plan):
    rows = rollout(Lanes(spec, lanes), parts, Plan(episodes, seed, **plan))
    return {name: rows.column(name) for name in COLUMNS}


COUNTER = EnvSpec(
    id="Counter-v0",
    success=InfoKey(key="is_success"),
    returns=Returns(random=0.0, reference=8.0),
    signals=Signals(position_indices=[0, 1], completion_key="progress", collision_key="hit"),
)


@pytest.fixture
def scripted() -> Policy:
    return Scripted()


@pytest.fixture
def counter() -> EnvSpec:
    return COUNTER


@pytest.fixture
def run():
    """A function that runs episodes and returns the columns of their rows."""
    return run_rows
