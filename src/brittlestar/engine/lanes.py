"""L copies of an environment side by side, with batched observations and actions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np

from brittlestar.envs.base import EnvSpec, check_spaces
from brittlestar.envs.batches import copy_batch, empty_batch, put_rows
from brittlestar.envs.fast import LaneGroup, fast_env
from brittlestar.envs.ids import registered_limit
from brittlestar.envs.leftovers import keeps_state
from brittlestar.envs.pixels import View
from brittlestar.envs.step_time import step_seconds
from brittlestar.envs.worlds import World
from brittlestar.errors import HarnessError


class Infos(Sequence[dict[str, Any]]):
    """The `info` of every lane; for lanes that step together, made on first use."""

    def __init__(self, count: int) -> None:
        self._infos: list[dict[str, Any]] = [{}] * count
        self._columns: list[tuple[np.ndarray, dict[str, Any]]] = []

    def __len__(self) -> int:
        return len(self._infos)

    def __getitem__(self, lane: Any) -> Any:
        while self._columns:
            lanes, columns = self._columns.pop()
            for row, index in enumerate(lanes.tolist()):
                self._infos[index] = {key: values[row] for key, values in columns.items()}
        return self._infos[lane]

    def __setitem__(self, lane: int, info: dict[str, Any]) -> None:
        self._infos[lane] = info

    def put(self, lanes: np.ndarray, columns: dict[str, Any]) -> None:
        """Adds one array per key, with a number for each of some lanes."""
        self._columns.append((lanes, columns))


@dataclass
class Batch:
    """The results of one step of all lanes; lanes that do not step keep their observation."""

    observation: Any
    reward: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray
    infos: Infos

    @classmethod
    def after(cls, observation: Any, count: int) -> Batch:
        """Returns the batch of a step that no lane has made yet, with a copy of the observations before it."""
        ends = np.zeros((2, count), dtype=bool)
        return cls(copy_batch(observation), np.zeros(count), ends[0], ends[1], Infos(count))


class Lanes:
    """Steps its environments with one call, on several threads when the simulator releases the GIL.

    All of them share one compiled model, unless `own_models`: then each can be edited alone.

    Attributes:
        calibrations: results of clean passes, stored with the environments that they ran in.
        observation: the states of all lanes.
        view: what policies see in place of the states; None if they see the states.

    Example:
        >>> lanes = Lanes(EnvSpec(id="CartPole-v1"), count=2)
        >>> lanes.reset(0, seed=1); lanes.reset(1, seed=2)
        >>> lanes.observation.shape
        (2, 4)
        >>> lanes.step(np.array([0, 1]), active=np.array([0, 1])).reward
        array([1., 1.])
    """

    def __init__(self, spec: EnvSpec, count: int, threads: int = 1, own_models: bool = False) -> None:
        self.spec, self._own_models = spec, own_models
        self.envs: list[gym.Env] = [spec.make()]
        check_spaces(self.envs[0])
        self.state_space, self.action_space = self.envs[0].observation_space, self.envs[0].action_space
        self.view = View(spec.pixels, self.envs[0], count) if spec.pixels.cameras else None
        self.observation_space = self.view.space if self.view else self.state_space
        self.step_seconds = step_seconds(self.envs[0])
        self.max_steps = self.envs[0].spec.max_episode_steps if self.envs[0].spec else None
        self.registered_steps = registered_limit(spec.id)
        self._makes_anew = keeps_state(self.envs[0])
        self._used: set[int] = set()
        self.calibrations: dict[Any, Any] = {}
        self._worlds: list[World] = []
        self._pool: ThreadPoolExecutor | None = None
        self._threads = 1
        self.use_threads(threads)
        self.resize(count)

    def resize(self, count: int) -> None:
        """Makes at least `count` environments and uses the first `count`."""
        while len(self.envs) < count:
            self.envs.append(self.spec.make(like=None if self._own_models else self.envs[0]))
        # Lanes step together if every environment is fast; their wrappers only count the steps, so that is done here.
        fast = [fast_env(env) for env in self.envs[:count]]
        self._fast = [env for env in fast if env is not None] if None not in fast else []
        self._groups: dict[bytes, LaneGroup] = {}
        self._steps = np.zeros(count, dtype=np.int64)
        self._infos, self._reset_infos = Infos(count), dict[int, dict[str, Any]]()
        self.count = count
        self.observation = empty_batch(self.state_space, count)
        if self.view is not None:
            self.view.resize(count)

    def use_threads(self, threads: int) -> None:
        """Sets how many threads step the lanes; an environment in plain Python gains nothing from two."""
        threads = threads if hasattr(self.envs[0].unwrapped, "model") else 1
        if threads != self._threads:
            if self._pool:
                self._pool.shutdown()
            self._pool, self._threads = ThreadPoolExecutor(threads - 1) if threads > 1 else None, threads

    def plan(self, seeds: Iterable[int]) -> None:
        """Takes the seeds of the next episodes; these lanes do not need them."""

    def reset(self, lane: int, seed: int) -> None:
        """Starts an episode in one lane, in a new environment if the old one would keep a part of its state."""
        if self._makes_anew:
            if lane in self._used:
                self.envs[lane].close()
                self.envs[lane] = self.spec.make()
            self._used.add(lane)
        observation, self._reset_infos[lane] = self.envs[lane].reset(seed=seed)
        self._steps[lane] = 0
        put_rows(self.observation, lane, observation)

    def step(self, actions: np.ndarray, active: np.ndarray) -> Batch:
        """Steps the lanes listed in `active`, each with its row of `actions`."""
        batch = Batch.after(self.observation, self.count)
        self.observation, self._infos, self._reset_infos = batch.observation, batch.infos, {}
        shares = [active[i :: self._threads] for i in range(self._threads)]
        step = self._step_together if self._fast else self._step_each
        futures = [self._pool.submit(step, share, actions, batch) for share in shares[1:]] if self._pool else []
        step(shares[0], actions, batch)
        for future in futures:
            future.result()
        return batch

    def _step_each(self, lanes: np.ndarray, actions: np.ndarray, batch: Batch) -> None:
        # Plain lists while lanes step: an item of a list is set much faster than one of an array.
        results = []
        for lane in lanes.tolist():
            observation, *result, batch.infos[lane] = self.envs[lane].step(actions[lane])
            put_rows(batch.observation, lane, observation)
            results.append(result)
        if results:
            batch.reward[lanes], batch.terminated[lanes], batch.truncated[lanes] = zip(*results, strict=True)

    def _step_together(self, lanes: np.ndarray, actions: np.ndarray, batch: Batch) -> None:
        if not len(lanes):
            return
        group = self._group(lanes)
        if self._worlds:
            group.share_models([self._worlds[lane] for lane in lanes.tolist()])
        fast = group.members[0]
        fast.begin(group, actions[lanes])
        fast.simulate(group)
        observation, batch.reward[lanes], batch.terminated[lanes], columns = fast.finish(group)
        put_rows(batch.observation, lanes, observation)
        self._steps[lanes] += 1
        batch.truncated[lanes] = self._steps[lanes] == (self.max_steps or -1)
        batch.infos.put(lanes, columns)

    def _group(self, lanes: np.ndarray) -> LaneGroup:
        key = lanes.tobytes()
        if key not in self._groups:
            # Lanes leave one by one when the episodes run out: no need to store every set of them.
            if len(self._groups) > 2 * self._threads:
                self._groups.clear()
            self._groups[key] = LaneGroup([self._fast[lane] for lane in lanes.tolist()])
        return self._groups[key]

    def masks(self, active: np.ndarray) -> np.ndarray | None:
        """Returns which choices are valid in each lane, `(lanes, choices)`; None if the environment has no masks.

        They come from `action_masks()` of the environment or of a wrapper, as for sb3-contrib, or from
        `info["action_mask"]`, as in Gymnasium's Taxi. In lanes that are not `active` every choice is valid.
        """
        rows = [self._mask(lane) for lane in active.tolist()]
        if all(row is None for row in rows):
            return None
        widths = {0 if row is None else len(row) for row in rows}
        if len(widths) > 1:
            raise HarnessError(f"the environment's action masks differ in length: {sorted(widths)}")
        masks = np.ones((self.count, *widths), dtype=bool)
        masks[active] = rows
        return masks

    def _mask(self, lane: int) -> np.ndarray | None:
        env = self.envs[lane]
        if env.has_wrapper_attr("action_masks"):
            mask = env.get_wrapper_attr("action_masks")()
        else:
            infos = self._reset_infos if lane in self._reset_infos else self._infos
            mask = infos[lane].get("action_mask")
        # Gymnasium masks several choices by a tuple, one mask for each.
        parts = mask if isinstance(mask, tuple) else (mask,)
        return None if mask is None else np.concatenate([np.ravel(part) for part in parts]).astype(bool)

    @property
    def compute_reward(self) -> Callable[..., Any] | None:
        """The reward of a goal environment for any goals; None if the environment has none."""
        return getattr(self.envs[0].unwrapped, "compute_reward", None)

    def worlds(self) -> list[World]:
        """Returns the simulators, which can be edited lane by lane; lanes that shared a model get new ones."""
        if not self._own_models:
            self._own_models = True
            del self.envs[1:]
            self.resize(self.count)
        self._worlds += [World(env) for env in self.envs[len(self._worlds) :]]
        for world in self._worlds:
            world.interchangeable = bool(self._fast)
        return self._worlds[: self.count]

    def close(self) -> None:
        """Closes every environment."""
        if self._pool:
            self._pool.shutdown()
        if self.view is not None:
            self.view.close()
        for env in self.envs:
            env.close()


def even_lanes(lanes: int, episodes: int) -> int:
    """Returns the number of lanes, at most `lanes`, whose episodes end together if all have the same length.

    Example:
        >>> even_lanes(16, episodes=20), even_lanes(16, episodes=100), even_lanes(16, episodes=3)
        (10, 15, 3)
    """
    return math.ceil(episodes / math.ceil(episodes / lanes))
