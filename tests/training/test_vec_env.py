import numpy as np
import pytest

pytest.importorskip("stable_baselines3")

from brittlestar.engine.stack import Parts
from brittlestar.envs import EnvSpec
from brittlestar.perturbations import (
    DriftObservation,
    GaussianAction,
    GaussianObservation,
    InvertedReward,
    Perturbation,
)
from brittlestar.training.algorithms import Algorithm
from brittlestar.training.spec import TrainingSpec
from brittlestar.training.vec_env import LaneVecEnv

SPEC = EnvSpec(id="Pendulum-v1", max_steps=7)


def make(count, perturbation=None, seed=0):
    return LaneVecEnv(
        TrainingSpec(SPEC, Algorithm("ppo", envs=count), Parts(None, perturbation or Perturbation()), seed)
    )


def roll(count, steps, perturbation):
    """Returns observations and rewards by (episode, step), for any number of lanes."""
    env = make(count, perturbation, seed=3)
    rows, observation = {}, env.reset()
    for _ in range(steps):
        places = list(zip(env._episodes.tolist(), env._steps.tolist(), strict=True))
        actions = np.sin(np.array([[episode + step] for episode, step in places], dtype=np.float32))
        seen = observation
        observation, reward, _, infos = env.step(actions)
        for lane, place in enumerate(places):
            rows[place] = seen[lane].tobytes(), float(reward[lane]), "terminal_observation" in infos[lane]
    env.close()
    return rows


@pytest.mark.parametrize(
    "perturbation",
    [
        Perturbation(),
        GaussianObservation(sigma=0.1),
        DriftObservation(sigma=0.1),
        GaussianAction(sigma=0.1),
        InvertedReward(inversion=1.0),
    ],
    ids=lambda perturbation: type(perturbation).__name__,
)
def test_an_episode_is_the_same_in_any_lane(perturbation):
    one, three = roll(1, 42, perturbation), roll(3, 14, perturbation)
    assert one == three
    assert sum(ended for *_, ended in one.values()) == 6


def test_the_last_observation_is_disturbed_and_does_not_change_the_next_episode():
    walk = DriftObservation(sigma=0.5)
    env = make(2, walk)
    env.reset()
    for _ in range(6):
        env.step(np.zeros((2, 1), np.float32))
    last = env.lanes.observation
    observation, _, done, infos = env.step(np.zeros((2, 1), np.float32))
    assert done.all()
    assert infos[0]["TimeLimit.truncated"]
    assert infos[0]["episode"]["l"] == 7
    assert np.abs(infos[0]["terminal_observation"] - last[0]).max() > 0.05
    # A walk starts at 0 in every episode, at most one increment away.
    assert np.abs(observation - env.lanes.observation).max() < 2.5


def test_an_update_runs_while_the_simulators_run():
    env, done = make(2), []
    env.reset()
    env.meanwhile = lambda: done.append(env._running is not None)
    for _ in range(2):
        env.step(np.zeros((2, 1), np.float32))
    assert done == [True]


def test_learners_see_the_disturbed_reward_and_scores_the_true_one():
    env = make(1, InvertedReward(inversion=1.0))
    env.reset()
    total = sum(float(env.step(np.zeros((1, 1), np.float32))[1][0]) for _ in range(6))
    _, reward, _, infos = env.step(np.zeros((1, 1), np.float32))
    assert infos[0]["episode"]["r"] == pytest.approx(-(total + float(reward[0])), rel=1e-5)
    assert total > 0
