"""The limit: a bare `env.step` loop that replays the actions of a cell."""

import contextlib
import functools
import io
import time
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import gymnasium as gym
import numpy as np

from brittlestar.engine.lanes import Lanes
from brittlestar.engine.plan import Plan
from brittlestar.engine.rollout import rollout
from brittlestar.engine.stack import Parts
from brittlestar.envs import EnvSpec


class Episode(NamedTuple):
    """Reset seed and actions, which repeat an episode: the cost of a step depends on the state."""

    seed: int
    actions: list[np.ndarray]


def record(spec: EnvSpec, parts: Parts, plan: Plan) -> list[Episode]:
    """Runs a cell whose actions are not perturbed, and returns its episodes."""
    lanes = Lanes(spec, min(spec.lanes, plan.episodes))
    rows = rollout(lanes, parts, replace(plan, record="trajectories"))
    lanes.close()
    actions = rows.trajectories["actions"].reshape(-1, *(lanes.action_space.shape or ()))
    episodes = np.split(actions, np.cumsum(rows.trajectories["lengths"])[:-1])
    seeds = rows.column("reset_seed").astype(np.int64).tolist()
    return [Episode(seed, list(steps)) for seed, steps in zip(seeds, episodes, strict=True)]


@functools.cache
def bare_env(env_id: str) -> gym.Env:
    """Makes an environment as it is registered, once per process."""
    # gymnasium-robotics prints advice when it is imported.
    with contextlib.redirect_stderr(io.StringIO()):
        import gymnasium_robotics

        gym.register_envs(gymnasium_robotics)
        return gym.make(env_id, disable_env_checker=True)


def bare_speed(env_id: str, episodes: list[Episode], clock: Callable[[], float] = time.perf_counter) -> float:
    """Replays episodes and returns steps per second of the clock."""
    env = bare_env(env_id)
    started = clock()
    for episode in episodes:
        env.reset(seed=episode.seed)
        for action in episode.actions:
            env.step(action)
    return sum(len(episode.actions) for episode in episodes) / (clock() - started)
