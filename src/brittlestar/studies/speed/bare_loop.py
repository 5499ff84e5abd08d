"""The limit: a bare `env.step` loop that replays the very actions of a cell."""

import contextlib
import functools
import io
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import gymnasium as gym
import numpy as np

from brittlestar.engine.lanes import Batch, Lanes
from brittlestar.engine.plan import Plan
from brittlestar.engine.rollout import rollout
from brittlestar.engine.stack import Parts
from brittlestar.envs import EnvSpec


@dataclass
class Episode:
    """Reset seed and actions, which repeat an episode: the cost of a step depends on the state."""

    seed: int
    actions: list[np.ndarray] = field(default_factory=list)


class _RecordingLanes(Lanes):
    """Lanes that record every episode they ran."""

    def __init__(self, spec: EnvSpec, count: int) -> None:
        self.episodes: list[Episode] = []
        self._running: dict[int, Episode] = {}
        super().__init__(spec, count)

    def reset(self, lane: int, seed: int) -> None:
        """Starts to record an episode."""
        self._running[lane] = Episode(seed)
        self.episodes.append(self._running[lane])
        super().reset(lane, seed)

    def step(self, actions: np.ndarray, active: np.ndarray) -> Batch:
        """Records the executed actions."""
        for lane in active.tolist():
            self._running[lane].actions.append(actions[lane].copy())
        return super().step(actions, active)


def record(spec: EnvSpec, parts: Parts, plan: Plan) -> list[Episode]:
    """Runs a cell and returns its episodes."""
    lanes = _RecordingLanes(spec, min(spec.lanes, plan.episodes))
    rollout(lanes, parts, plan)
    lanes.close()
    return lanes.episodes


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
