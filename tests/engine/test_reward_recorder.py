"""Reward over time, compared with whole trajectories."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

from brittlestar.engine.lanes import Lanes
from brittlestar.engine.plan import Plan
from brittlestar.engine.reward_recorder import MOST_POINTS, QUANTILES, REWARD_COLUMNS
from brittlestar.engine.rollout import rollout
from brittlestar.engine.stack import Parts
from brittlestar.envs import EnvSpec
from brittlestar.policies import RandomPolicy
from brittlestar.schedules import Phases


class Lottery(gym.Env):
    """Episodes of different lengths, with rewards that are different at every step."""

    observation_space = spaces.Box(-1.0, 1.0, (1,), np.float64)
    action_space = spaces.Discrete(2)

    def __init__(self, longest=60):
        self.longest = longest

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.left = int(self.np_random.integers(1, self.longest))
        return np.zeros(1), {}

    def step(self, action):
        self.left -= 1
        return np.zeros(1), float(self.np_random.normal()), self.left == 0, False, {}


@pytest.fixture
def lottery():
    gym.register("Lottery-v0", Lottery)
    yield lambda longest, limit=None: EnvSpec(id="Lottery-v0", kwargs={"longest": longest}, max_steps=limit)
    del gym.registry["Lottery-v0"]


def run(spec, lanes, episodes=23, schedule=None):
    parts = Parts(RandomPolicy(), **({"schedule": schedule} if schedule else {}))
    return rollout(Lanes(spec, lanes), parts, Plan(episodes, record="trajectories"))


def by_hand(rows, steps):
    """The cumulative reward of each episode after some steps; it keeps its return when it has ended."""
    ends = np.cumsum(rows.trajectories["lengths"])
    totals = map(np.cumsum, np.split(rows.trajectories["rewards"], ends[:-1]))
    return np.array([[total[min(step, len(total)) - 1] for step in steps] for total in totals])


@pytest.mark.parametrize(
    ("longest", "limit", "distance"),
    [(60, None, 1), (60, 40, 1), (MOST_POINTS, 128, 1), (300, None, 4), (300, 200, 2), (1500, 1000, 8),
     (3000, 100_000, 32)],
)  # fmt: skip
def test_mean_and_quantiles_are_those_of_whole_trajectories(lottery, longest, limit, distance):
    rows = run(lottery(longest, limit), lanes=5)
    (record,) = rows.rewards
    assert (record.shape[1], record.dtype) == (len(REWARD_COLUMNS), np.float32)
    assert len(record) <= MOST_POINTS
    steps = record[:, 0].astype(int)
    assert steps[0] == distance and (np.diff(steps)[:-1] == distance).all()
    assert steps[-1] == rows.column("length").max()
    totals = by_hand(rows, steps)
    expected = np.column_stack([totals.mean(axis=0), *np.quantile(totals, QUANTILES, axis=0)])
    np.testing.assert_allclose(record[:, 1:], expected, rtol=1e-5, atol=1e-4)
    assert record[-1, 1] == pytest.approx(rows.column("return").mean(), rel=1e-6)


@pytest.mark.parametrize(("longest", "limit"), [(60, None), (700, None), (700, 500)])
def test_lanes_change_nothing(lottery, longest, limit):
    records = [run(lottery(longest, limit), lanes).rewards.tobytes() for lanes in (1, 4, 23)]
    assert len(set(records)) == 1


def test_every_phase_has_a_record(lottery):
    schedule = Phases(segments=[["pre", 5], ["shock", 10], ["post", 8]])
    rows = run(lottery(60), lanes=4, schedule=schedule)
    assert rows.phases == ["pre", "shock", "post"]
    assert len(rows.rewards) == 3
    for phase, record in enumerate(rows.rewards):
        assert record[-1, 1] == pytest.approx(rows.column("return")[rows.column("phase") == phase].mean(), rel=1e-6)


def test_a_record_is_small(lottery):
    assert run(lottery(20_000), lanes=8, episodes=8).rewards.nbytes < 4000
