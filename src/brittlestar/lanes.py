"""L copies of an environment side by side, with batched observations and actions."""

from __future__ import annotations

from collections.abc import Iterator
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
        self._steps = [0] * count
        self.count = count
        self.observation = _empty(self.observation_space, count)

    def use_threads(self, threads: int) -> None:
        """Sets how many threads step the lanes; an environment in plain Python gains nothing from two."""
        native = hasattr(self.envs[0].unwrapped, "model")
        self._pool = ThreadPoolExecutor(threads - 1) if threads > 1 and native else None
        self._threads = threads if self._pool else 1

    def reset(self, lane: int, seed: int) -> None:
        """Starts an episode in one lane."""
        observation, _ = self.envs[lane].reset(seed=seed)
        self._steps[lane] = 0
        _put(self.observation, lane, observation)

    def step(self, actions: np.ndarray, active: np.ndarray) -> Batch:
        """Steps the lanes listed in `active`, each with its row of `actions`."""
        self.observation = _copy(self.observation)
        # Plain lists while lanes step: an item of a list is set much faster than one of an array.
        results: list[tuple] = [(0.0, False, False, {})] * self.count
        shares = [active[i :: self._threads].tolist() for i in range(self._threads)]
        waiting = [self._pool.submit(self._step_some, s, actions, results) for s in shares[1:]] if self._pool else []
        self._step_some(shares[0], actions, results)
        for job in waiting:
            job.result()
        rewards, terminated, truncated, infos = zip(*results, strict=True)
        return Batch(
            self.observation,
            np.array(rewards, dtype=np.float64),
            np.array(terminated, dtype=bool),
            np.array(truncated, dtype=bool),
            list(infos),
        )

    def _step_some(self, lanes: list[int], actions: np.ndarray, results: list[tuple]) -> None:
        batch = self.observation
        for lane, (observation, *result) in zip(lanes, self._answers(lanes, actions), strict=True):
            results[lane] = tuple(result)
            _put(batch, lane, observation)

    def _answers(self, lanes: list[int], actions: np.ndarray) -> Iterator[tuple]:
        if not self._parts:
            for lane in lanes:
                yield self.envs[lane].step(actions[lane])
            return
        forms = [self._parts[lane] for lane in lanes]
        for lane, form in zip(lanes, forms, strict=True):
            form.begin(actions[lane])
        for form in forms:
            form.simulate()
        for lane, form in zip(lanes, forms, strict=True):
            observation, reward, terminated, truncated, info = form.finish()
            self._steps[lane] += 1
            yield observation, reward, terminated, truncated or self._steps[lane] == self.max_steps, info

    def close(self) -> None:
        """Closes every environment."""
        if self._pool:
            self._pool.shutdown()
        for env in self.envs:
            env.close()


def _empty(space: spaces.Space, count: int) -> Any:
    if isinstance(space, spaces.Dict):
        return {key: _empty(part, count) for key, part in space.items()}
    return np.zeros((count, *(space.shape or ())), dtype=space.dtype)


def _copy(observation: Any) -> Any:
    if isinstance(observation, dict):
        return {key: array.copy() for key, array in observation.items()}
    return observation.copy()


def _put(batch: Any, lane: int, observation: Any) -> None:
    try:
        if isinstance(batch, dict):
            for key, array in batch.items():
                array[lane] = observation[key]
        else:
            batch[lane] = observation
    except (ValueError, KeyError, TypeError) as error:
        raise HarnessError(f"the environment's observation does not fit its space: {error}") from None
