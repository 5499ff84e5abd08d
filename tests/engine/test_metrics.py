import dataclasses

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

from brittlestar.engine.stack import Parts
from brittlestar.envs import EnvSpec, Signals
from brittlestar.envs.success import GoalReached, Terminated
from brittlestar.mitigations import LowPass
from brittlestar.perturbations import GaussianObservation
from brittlestar.policies import Policy, RandomPolicy


def test_every_metric_is_as_computed_by_hand(run, counter, scripted):
    row = {name: values[0] for name, values in run(counter, Parts(scripted)).items()}
    expected = {
        "length": 4,
        "terminated": 1,
        "truncated": 0,
        "return": 4,
        "normalised_return": 0.5,
        "success_any": 1,
        "success_final": 0,
        "dwell": 0.5,
        "time_to_success": 2,
        "completion_fraction": 1,
        "collision_any": 1,
        "collision_rate": 0.25,
        "smoothness": ((1 + 0.25) + (1 + 0.25) + 1) / 3,
        "peak_action": 1,
        "action_energy": 2.25,
        "path_length": 2.5,
        # The last observation is never shown to the policy.
        "path_length_observed": 2.5,
        "observation_change": 0,
        "action_change": 0,
    }
    for name, value in expected.items():
        assert row[name] == pytest.approx(value), name
    for name in ("smoothness", "peak_action", "action_energy"):
        assert row[f"{name}_executed"] == pytest.approx(row[name])
    for name in ("solved_at_reset", "cycle_time", "final_distance"):
        assert np.isnan(row[name])


def test_commanded_and_executed_actions_have_metrics_of_their_own(run, counter, scripted):
    row = run(counter, Parts(scripted, mitigation=LowPass(alpha=0.5)))
    assert row["action_energy"][0] == 2.25
    sent = np.array([[1, 0], [0.5, 0.25], [-0.25, 0.125], [-0.125, 0.0625]])
    assert row["action_energy_executed"][0] == pytest.approx((sent**2).sum())
    assert not row["action_change"].any(), "a mitigation is no perturbation"


def test_delivery_is_the_root_mean_square_change(run, counter, scripted):
    row = run(counter, Parts(scripted, GaussianObservation(sigma=0.2)), episodes=300)
    assert np.sqrt(np.mean(row["observation_change"] ** 2)) == pytest.approx(0.2, rel=0.05)
    assert not row["action_change"].any()


@pytest.mark.parametrize(
    ("env", "policy"),
    [("FrozenLake-v1", RandomPolicy()), ("CartPole-v1", RandomPolicy()), ("Acrobot-v1", RandomPolicy())],
)
def test_metrics_without_meaning_are_missing(run, env, policy):
    row = run(EnvSpec(id=env, max_steps=20, success=Terminated()), Parts(policy))
    for name in ("smoothness", "peak_action", "action_energy", "path_length", "final_distance", "collision_rate",
                 "collision_any", "completion_fraction"):  # fmt: skip
        assert np.isnan(row[name]).all(), name
    assert np.isfinite(row["return"]).all()


def test_time_to_success_is_in_seconds_where_the_environment_shows_its_frames(run):
    """CartPole has no `dt`, but 50 frames per second; falling is a success here."""
    row = run(EnvSpec(id="CartPole-v1", success=Terminated()), Parts(RandomPolicy()))
    assert np.array_equal(row["cycle_time"], row["time_to_success"] * 0.02)


@pytest.mark.parametrize("key", ["hit", "hits"])
def test_collisions_that_no_step_shows_are_missing_not_zero(run, counter, scripted, key):
    signals = dataclasses.replace(counter.signals, collision_key=key)
    row = run(dataclasses.replace(counter, signals=signals), Parts(scripted))
    known = key == "hit"
    assert np.array_equal(row["collision_any"], np.full(5, 1.0 if known else np.nan), equal_nan=True)
    assert np.array_equal(row["collision_rate"], np.full(5, 0.25 if known else np.nan), equal_nan=True)


class Approach(gym.Env):
    """Starts 1 away from its goal; the action is the distance after the only step."""

    observation_space = spaces.Dict({name: spaces.Box(-9, 9, (1,)) for name in ("achieved_goal", "desired_goal")})
    action_space = spaces.Box(0.0, 9.0, (1,), np.float64)

    def __init__(self, start=1.0):
        self.start = start

    def reset(self, *, seed=None, options=None):
        return self.see(self.start), {}

    def step(self, action):
        return self.see(float(action[0])), 0.0, True, False, {"done": 0.3}

    def see(self, distance):
        return {"achieved_goal": np.array([distance]), "desired_goal": np.zeros(1)}


class Move(Policy):
    """Goes to a distance."""

    def __init__(self, distance):
        self.distance = distance

    def predict(self, observation, state=None, episode_start=None, deterministic=True):
        return np.full((len(episode_start), 1), self.distance), state


@pytest.fixture
def approach(run):
    gym.register("Approach-v0", Approach)
    yield lambda distance, start=1.0, **options: run(
        EnvSpec(id="Approach-v0", kwargs={"start": start}, **options), Parts(Move(distance))
    )["completion_fraction"][0]
    del gym.registry["Approach-v0"]


def test_completion_of_a_goal_environment_is_the_way_that_was_gone(approach):
    assert approach(0.25) == pytest.approx(0.75)
    assert approach(0.0) == 1.0
    assert approach(3.0) == 0.0, "farther away than at the start"
    assert (approach(0.0, start=0.0), approach(0.5, start=0.0)) == (1.0, 0.0)


def test_an_episode_at_its_goal_is_complete(approach):
    assert approach(0.04, success=GoalReached(distance=0.05)) == 1.0
    assert approach(0.06, success=GoalReached(distance=0.05)) == pytest.approx(0.94)
    # It starts within reach of the goal, and remains there.
    assert approach(0.03, start=0.04, success=GoalReached(distance=0.05)) == 1.0


def test_a_key_of_the_environment_goes_before_its_distance(approach):
    assert approach(0.5, signals=Signals(completion_key="done")) == 0.3
