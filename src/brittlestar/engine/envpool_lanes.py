"""Lanes on EnvPool: every episode is an environment of its own, made with its seed and run once."""

import warnings
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium import spaces

from brittlestar.engine.envpool_import import load_envpool
from brittlestar.engine.lanes import Batch
from brittlestar.envs.base import EnvSpec, check_spaces
from brittlestar.envs.batches import empty_batch, put_rows, take_row
from brittlestar.envs.pixels import View
from brittlestar.envs.step_time import registered_frame_seconds
from brittlestar.envs.worlds import World
from brittlestar.errors import UserError, nearest

_POOL_SIZES = {"classic_control": 1024, "toy_text": 1024, "mujoco.gym": 64, "mujoco.robotics": 8}
"""Suite to how many of its environments are made at once."""
_POOL_SIZE = 64

_OWN_OPTIONS = (
    "num_envs", "batch_size", "num_threads", "seed", "env_seed", "max_episode_steps", "max_num_players",
    "thread_affinity_offset", "base_path", "gym_reset_return_info", "reward_threshold",
)  # fmt: skip
"""Options that only the engine sets."""

_ENDLESS = 2**31 - 1

_MASKED = ("Taxi-v3",)
"""Environments with action masks in Gymnasium."""

_TIMESTEPS = {
    "Acrobot": 0.2, "Pendulum": 0.05, "Ant": 0.01, "HalfCheetah": 0.01, "Hopper": 0.002, "Humanoid": 0.003,
    "HumanoidStandup": 0.003, "InvertedDoublePendulum": 0.01, "InvertedPendulum": 0.02, "Pusher": 0.01,
    "Reacher": 0.01, "Swimmer": 0.01, "Walker2d": 0.002, "FetchReach": 0.002, "FetchPush": 0.002,
    "FetchSlide": 0.002, "FetchPickAndPlace": 0.002,
}  # fmt: skip
"""Seconds of one step of the simulator; an action lasts `frame_skip` of them."""

_OWN_INFO = ("env_id", "players", "elapsed_step")
"""Keys of `info` that only EnvPool adds."""


@dataclass(eq=False)
class _Pool:
    """Environments that are made, reset and stepped together; `first` holds their observations after the reset."""

    envs: Any
    first: Any
    seeds: Sequence[int]
    started: int = 0
    """How many of them have started their episode."""
    left: int = 0
    """How many of those no lane uses any more."""


class PoolLanes:
    """Steps its environments with one call into EnvPool; it has what `rollout` needs of `Lanes`.

    EnvPool seeds an environment when it is made and never again. So an episode has an environment of its own, made
    with the episode's seed, and its numbers depend on that seed alone: not on lanes, threads or what ran before.
    """

    compute_reward: None = None
    """EnvPool cannot compute the reward of another goal."""
    view: View | None = None
    """There are no cameras."""

    def __init__(self, spec: EnvSpec, count: int, threads: int = 1) -> None:
        self.spec, self.calibrations = spec, dict[Any, Any]()
        self._envpool, self.suite = load_envpool(spec.id)
        self._pool_size = _POOL_SIZES.get(self.suite, _POOL_SIZE)
        self.render_options: dict[str, Any] = {}
        """Options of environments that are to be drawn."""
        self._options = _options(self._envpool, spec)
        # EnvPool warns that float32 cannot hold some bounds exactly.
        with warnings.catch_warnings(action="ignore"):
            shape = self._envpool.make_spec(spec.id, **self._options)
            self.observation_space, self.action_space = map(_sorted, (shape.observation_space, shape.action_space))
            self.state_space = self.observation_space
        if isinstance(self.action_space, spaces.Box) and self.action_space.dtype == np.float64:
            low, high = (bound.astype(np.float32) for bound in (self.action_space.low, self.action_space.high))
            self.action_space = spaces.Box(low, high, dtype=np.float32)
        check_spaces(self)
        registered = shape.config.max_episode_steps
        self.registered_steps = registered if registered < _ENDLESS else None
        self.max_steps = spec.max_steps or self.registered_steps
        timestep = _TIMESTEPS.get(spec.id.rpartition("-")[0].replace("Dense", ""))
        action = timestep and timestep * getattr(shape.config, "frame_skip", 1)
        self.step_seconds = action or registered_frame_seconds(spec.id)
        self._pools: list[_Pool] = []
        self.use_threads(threads)
        self.resize(count)

    def resize(self, count: int) -> None:
        """Uses `count` lanes; what ran in them is over."""
        self.count = count
        self.plan(())
        self._ids, self._steps = np.zeros(count, dtype=np.int32), np.zeros(count, dtype=np.int64)
        self.observation = empty_batch(self.observation_space, count)

    def use_threads(self, threads: int) -> None:
        """Sets how many threads step the environments that are made from now on."""
        self._threads = threads

    def plan(self, seeds: Iterable[int]) -> None:
        """Takes the seeds of the next episodes, in order, so that many environments can be made at once."""
        self.close()
        self._seeds = deque(seeds)

    def reset(self, lane: int, seed: int) -> None:
        """Starts an episode in one lane, in an environment that has never run."""
        self._leave(self._pool_of[lane])
        pool = self._pool_of[lane] = self._fresh(seed)
        self._ids[lane], self._steps[lane] = pool.started, 0
        put_rows(self.observation, lane, take_row(pool.first, pool.started))
        pool.started += 1

    def _fresh(self, seed: int) -> _Pool:
        """Returns a pool whose next environment has this seed."""
        newest = self._pools[-1] if self._pools else None
        if newest and newest.started < len(newest.seeds) and newest.seeds[newest.started] == seed:
            return newest
        seeds = [seed]
        if self._seeds and self._seeds[0] == seed:
            seeds = [self._seeds.popleft() for _ in range(min(len(self._seeds), self._pool_size))]
        self._pools.append(self._make(seeds))
        return self._pools[-1]

    def _make(self, seeds: list[int]) -> _Pool:
        # EnvPool calls an episode that ends by itself in its last step truncated only; so the steps are counted here.
        limit = _ENDLESS if self.max_steps is None else self.max_steps + 1
        with warnings.catch_warnings(action="ignore"):
            envs = self._envpool.make_gymnasium(
                self.spec.id,
                num_envs=len(seeds),
                seed=[_int32(seed) for seed in seeds],
                num_threads=min(self._threads, len(seeds)),
                max_episode_steps=limit,
                **self._options,
                **self.render_options,
            )
            return _Pool(envs, envs.reset()[0], seeds)

    def step(self, actions: np.ndarray, active: np.ndarray) -> Batch:
        """Steps the lanes listed in `active`, each with its row of `actions`."""
        batch = Batch.after(self.observation, self.count)
        self.observation = batch.observation
        for pool in self._pools:
            inside = [self._pool_of[lane] is pool for lane in active.tolist()] if len(self._pools) > 1 else ...
            self._step_pool(pool, active[inside], actions, batch)
        return batch

    def _step_pool(self, pool: _Pool, lanes: np.ndarray, actions: np.ndarray, batch: Batch) -> None:
        if not len(lanes):
            return
        observation, reward, terminated, truncated, info = pool.envs.step(actions[lanes], self._ids[lanes])
        put_rows(batch.observation, lanes, observation)
        self._steps[lanes] += 1
        batch.reward[lanes], batch.terminated[lanes] = reward, terminated
        batch.truncated[lanes] = truncated | (self._steps[lanes] == (self.max_steps or -1))
        batch.infos.put(lanes, {key: values for key, values in info.items() if key not in _OWN_INFO})

    def _leave(self, pool: _Pool | None) -> None:
        if pool is None:
            return
        pool.left += 1
        if pool.left == len(pool.seeds):
            self._pools.remove(pool)
            pool.envs.close()

    def picture(self, lane: int) -> np.ndarray:
        """Returns a picture of a lane, see `render_options`; raises `RuntimeError` where EnvPool draws none."""
        pool = self._pool_of[lane]
        assert pool is not None
        return pool.envs.render(env_ids=[int(self._ids[lane])])[0]

    def masks(self, active: np.ndarray) -> None:
        """Returns None, because EnvPool has no action masks; refuses an environment that should have some."""
        if self.spec.id in _MASKED:
            lost = f"the action masks of {self.spec.id}, which this policy was trained with"
            raise UserError(f"`env.backend=envpool` does not show {lost}: take `gymnasium`")

    def worlds(self) -> list[World]:
        """Refuses: EnvPool shows no model."""
        raise UserError("a perturbation of the world needs `env.backend=gymnasium`")

    def close(self) -> None:
        """Closes every environment."""
        for pool in self._pools:
            pool.envs.close()
        self._pools, self._pool_of = [], list[_Pool | None]([None] * self.count)


def _options(envpool: Any, spec: EnvSpec) -> dict[str, Any]:
    valid = [name for name in envpool.make_spec(spec.id).config._fields if name not in _OWN_OPTIONS]
    for name in spec.kwargs:
        if name not in valid:
            raise UserError(f"`env.kwargs` do not fit EnvPool's {spec.id}: {name!r} is unknown; {nearest(name, valid)}")
    return dict(spec.kwargs)


def _sorted(space: Any) -> spaces.Space:
    """Puts the entries of a dict in Gymnasium's order."""
    return spaces.Dict(dict(sorted(space.items()))) if isinstance(space, spaces.Dict) else space


def _int32(seed: int) -> int:
    """Returns the lowest 32 bits of a seed, in EnvPool's type."""
    return (seed + 2**31) % 2**32 - 2**31
