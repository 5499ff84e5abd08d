"""Rows do not depend on the number of lanes, also where some lanes are perturbed while others are not."""

import numpy as np
import pytest

from brittlestar.config import config_folder, options
from brittlestar.config.build import build, load
from brittlestar.engine.evaluation import run_episodes
from brittlestar.engine.plan import Plan
from brittlestar.engine.stack import Parts
from brittlestar.envs import EnvSpec
from brittlestar.errors import UserError
from brittlestar.policies import RandomPolicy
from brittlestar.schedules import Phases

ENVS = {
    "CartPole-v1": EnvSpec(id="CartPole-v1", max_steps=12, backend="gymnasium"),
    "Pendulum-v1": EnvSpec(id="Pendulum-v1", max_steps=6, backend="gymnasium"),
    "FetchReach-v4": EnvSpec(id="FetchReach-v4", max_steps=4, backend="gymnasium"),
}
OPTIONS = [name for name in options("perturbation", config_folder()) if name not in ("none", "baseline")]
SENSORS = {
    "_target_": "brittlestar.perturbations.ComposedPerturbation",
    "parts": {
        "noise": {"_target_": "brittlestar.perturbations.GaussianObservation", "sigma": 0.1, "keys": ["observation"]},
        "goal": {
            "_target_": "brittlestar.perturbations.Scheduled",
            "perturbation": {
                "_target_": "brittlestar.perturbations.GaussianObservation",
                "sigma": 0.1,
                "keys": ["desired_goal"],
            },
            "schedule": {"_target_": "brittlestar.schedules.StepSchedule", "onset_step": 2},
        },
    },
}


def rows(env, make, lanes):
    parts = Parts(RandomPolicy(), make(), schedule=Phases(pre=3, shock=3, post=3))
    return run_episodes(ENVS[env], parts, Plan(9), lanes=lanes)


def fits(env, option):
    """Whether a perturbation goes with an environment: others need pictures, or a simulator to edit."""
    try:
        rows(env, lambda: load("perturbation", option), 1)
    except UserError:
        return False
    return True


def compare(env, make):
    alone, together = rows(env, make, 1), rows(env, make, 4)
    np.testing.assert_array_equal(alone.values, together.values)
    assert alone.effects.keys() == together.effects.keys()
    for name, values in alone.effects.items():
        np.testing.assert_array_equal(values, together.effects[name])


@pytest.mark.parametrize("env", ["CartPole-v1", pytest.param("Pendulum-v1", marks=pytest.mark.slow)])
def test_phases_in_any_number_of_lanes(env):
    fitting = [option for option in OPTIONS if fits(env, option)]
    assert len(fitting) >= 30
    for option in fitting:
        compare(env, lambda option=option: load("perturbation", option))


def test_entries_that_are_perturbed_at_different_times():
    compare("FetchReach-v4", lambda: build(SENSORS, "perturbation"))


def test_an_episode_without_perturbation_shows_its_reward():
    """The return that a learner sees is the true one before and after the shock, not missing or 0."""
    result = rows("CartPole-v1", lambda: load("perturbation", "noisy_reward"), 2)
    seen, true = result.column("return_observed"), result.column("return")
    calm = result.column("phase") != result.phases.index("shock")
    assert (seen[calm] == true[calm]).all() and (seen[~calm] != true[~calm]).all()
    assert (result.column("reward_change")[calm] == 0).all()
