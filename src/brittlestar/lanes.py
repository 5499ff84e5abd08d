"""L copies of an environment side by side, with batched observations and actions."""

from __future__ import annotations

import math
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from brittlestar.envs import EnvSpec, check_spaces
from brittlestar.errors import HarnessError
from brittlestar.fast import fast_form


@dataclass
class Batch:
    """What one step of all lanes gave; rows of lanes that did not step keep their old observation."""

    observation: Any
    reward: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray
    infos: list[dict]


class Lanes:
    """Steps its environments with one call, on several threads when the simulator releases the GIL.

    Example:
        >>> lanes = Lanes(EnvSpec(id="CartPole-v1"), count=2)
        >>> lanes.reset(0, seed=1); lanes.reset(1, seed=2)
        >>> lanes.observation.shape
        (2, 4)
        >>> lanes.step(np.array([0, 1]), active=np.array([0, 1])).reward
        array([1., 1.])
    """

    def __init__(self, spec: EnvSpec, count: int, threads: int = 1) -> None:
        self.spec = spec
        self.envs: list[gym.Env] = [spec.make()]
        check_spaces(self.envs[0])
        self.observation_space = self.envs[0].observation_space
        self.action_space = self.envs[0].action_space
        self.step_seconds: float | None = getattr(self.envs[0].unwrapped, "dt", None)
        self.max_steps = self.envs[0].spec.max_episode_steps if self.envs[0].spec else None
        self.observation: Any = None
        self.use_threads(threads)
        self.resize(count)

    def resize(self, count: int) -> None:
        """Makes at least `count` environments and uses the first `count`."""
        while len(self.envs) < count:
            self.envs.append(self.spec.make(like=self.envs[0]))
        # Steps in parts, if every lane has them; its wrappers only count the steps, so that is done here.
        forms = [fast_form(env) for env in self.envs[:count]]
        self._parts = [form for form in forms if form is not None] if None not in forms else []
        self._steps = np.zeros(count, dtype=np.int64)
        self.count = count
        self.observation = empty_batch(self.observation_space, count)

    def use_threads(self, threads: int) -> None:
        """Sets how many threads step the lanes; an environment in plain Python gains nothing from two."""
        native = hasattr(self.envs[0].unwrapped, "model")
        self._pool = ThreadPoolExecutor(threads - 1) if threads > 1 and native else None
        self._threads = threads if self._pool else 1

    def plan(self, seeds: Iterable[int]) -> None:
        """Tells the seeds of the coming episodes; nothing here depends on them."""

    def reset(self, lane: int, seed: int) -> None:
        """Starts an episode in one lane."""
        observation, _ = self.envs[lane].reset(seed=seed)
        self._steps[lane] = 0
        put_rows(self.observation, lane, observation)

    def step(self, actions: np.ndarray, active: np.ndarray) -> Batch:
        """Steps the lanes listed in `active`, each with its row of `actions`."""
        self.observation = copy_batch(self.observation)
        self._rewards, self._terminated = np.zeros(self.count), np.zeros(self.count, dtype=bool)
        self._truncated = np.zeros(self.count, dtype=bool)
        self._infos: list[dict[str, Any]] = [{}] * self.count
        shares = [active[i :: self._threads] for i in range(self._threads)]
        step = self._step_together if self._parts else self._step_each
        waiting = [self._pool.submit(step, share, actions) for share in shares[1:]] if self._pool else []
        step(shares[0], actions)
        for job in waiting:
            job.result()
        return Batch(self.observation, self._rewards, self._terminated, self._truncated, self._infos)

    def _step_each(self, lanes: np.ndarray, actions: np.ndarray) -> None:
        # Plain lists while lanes step: an item of a list is set much faster than one of an array.
        results = []
        for lane in lanes.tolist():
            observation, *result, self._infos[lane] = self.envs[lane].step(actions[lane])
            put_rows(self.observation, lane, observation)
            results.append(result)
        if results:
            self._rewards[lanes], self._terminated[lanes], self._truncated[lanes] = zip(*results, strict=True)

    def _step_together(self, lanes: np.ndarray, actions: np.ndarray) -> None:
        forms = [self._parts[lane] for lane in lanes.tolist()]
        if not forms:
            return
        forms[0].begin(forms, actions[lanes])
        for form in forms:
            form.simulate()
        observation, self._rewards[lanes], self._terminated[lanes], infos = forms[0].finish(forms)
        put_rows(self.observation, lanes, observation)
        self._steps[lanes] += 1
        self._truncated[lanes] = self._steps[lanes] == (self.max_steps or -1)
        for lane, info in zip(lanes.tolist(), infos, strict=True):
            self._infos[lane] = info

    def close(self) -> None:
        """Closes every environment."""
        if self._pool:
            self._pool.shutdown()
        for env in self.envs:
            env.close()


def even_lanes(lanes: int, episodes: int) -> int:
    """Returns how many lanes, of at most so many, end their episodes together if all have the same length.

    Example:
        >>> even_lanes(16, episodes=20), even_lanes(16, episodes=100), even_lanes(16, episodes=3)
        (10, 15, 3)
    """
    return math.ceil(episodes / math.ceil(episodes / lanes))


def empty_batch(space: spaces.Space, count: int) -> Any:
    """Returns observations of zeros for some lanes."""
    if isinstance(space, spaces.Dict):
        return {key: empty_batch(part, count) for key, part in space.items()}
    return np.zeros((count, *(space.shape or ())), dtype=space.dtype)


def copy_batch(observation: Any) -> Any:
    """Returns a copy of batched observations."""
    if isinstance(observation, dict):
        return {key: array.copy() for key, array in observation.items()}
    return observation.copy()


def put_rows(batch: Any, lane: int | np.ndarray, observation: Any) -> None:
    """Writes the observation of one lane, or of several, into a batch."""
    try:
        if isinstance(batch, dict):
            for key, array in batch.items():
                array[lane] = observation[key]
        else:
            batch[lane] = observation
    except (ValueError, KeyError, TypeError) as error:
        raise HarnessError(f"the environment's observation does not fit its space: {error}") from None
