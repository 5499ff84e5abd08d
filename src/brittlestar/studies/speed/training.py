"""Training: steps per second against plain Stable-Baselines3, and ways to collect experience."""

import contextlib
import functools
import importlib.util
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from brittlestar.engine.cores import cores
from brittlestar.envs.base import EnvSpec
from brittlestar.envs.ids import register_id

from .timing import Figure, take_turns

_ENV = "FetchPush-v4"
_ENVS = 8
_STARTS = 800
"""Steps before the first update; an episode of every environment has to end first."""
_WAYS = {
    "dummy": "8 environments in DummyVecEnv",
    "subproc": "8 environments in SubprocVecEnv",
    "envpool": "8 environments of EnvPool, without Stable-Baselines3",
    "lanes": "8 lanes in threads, as in `brittlestar train`",
}


def training(quick: bool) -> list[Figure]:
    """SAC with hindsight replay on FetchPush, one update for each step of eight environments."""
    steps, rounds = (1600, 2) if quick else (4000, 3)
    register_id(_ENV)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        speeds = take_turns(rounds, plain=lambda: _plain(steps), ours=lambda: _ours(steps))
        ways = [way for way in _WAYS if way != "envpool" or importlib.util.find_spec("envpool")]
        collected = take_turns(rounds, **{way: functools.partial(_collect, way, steps) for way in ways})
    return [
        Figure("plain SB3, 8 environments in DummyVecEnv", speeds.median("plain"), "steps/s"),
        Figure("brittlestar train, 8 lanes", speeds.median("ours"), "steps/s"),
        Figure("brittlestar train / plain SB3", speeds.ratio("ours", "plain"), at_least=2.0),
        *(Figure(f"collection alone: {_WAYS[way]}", collected.median(way), "steps/s") for way in ways),
    ]


_OPTIONS: dict[str, Any] = {
    "gamma": 0.95, "ent_coef": 0.05, "learning_starts": _STARTS, "buffer_size": 20_000, "train_freq": 1,
    "gradient_steps": 1,
}  # fmt: skip


def _algorithm() -> Any:
    from brittlestar.training.algorithms import Algorithm

    return Algorithm("sac", envs=_ENVS, goals=True, options=dict(_OPTIONS))


def _plain(steps: int) -> float:
    """As a user of Stable-Baselines3 would write it, with all its threads."""
    import torch
    from stable_baselines3 import SAC, HerReplayBuffer
    from stable_baselines3.common.env_util import make_vec_env

    torch.set_num_threads(cores())
    env = make_vec_env(_ENV, _ENVS, seed=0)
    goals = {"n_sampled_goal": 4, "goal_selection_strategy": "future"}
    hindsight: Any = {"replay_buffer_class": HerReplayBuffer, "replay_buffer_kwargs": goals}
    return _learn(SAC("MultiInputPolicy", env, seed=0, device="cpu", **hindsight, **_OPTIONS), steps)


def _ours(steps: int) -> float:
    from brittlestar.training.session import Session
    from brittlestar.training.spec import TrainingSpec, lane_threads
    from brittlestar.training.train import set_threads

    set_threads()
    spec = TrainingSpec(EnvSpec(id=_ENV), _algorithm(), threads=lane_threads(_algorithm(), cores()))
    with tempfile.TemporaryDirectory() as folder, contextlib.closing(Session(spec, Path(folder))) as session:
        return _learn(session.model, steps)


def _learn(model: Any, steps: int) -> float:
    """Returns the speed once it learns at every step."""
    model.learn(_STARTS + 10 * _ENVS)
    started = time.perf_counter()
    model.learn(steps, reset_num_timesteps=False)
    return steps / (time.perf_counter() - started)


def _collect(way: str, steps: int) -> float:
    """Steps random actions and learns nothing."""
    env = _make(way)
    env.reset()
    actions = np.random.default_rng(0).uniform(-1.0, 1.0, (steps // _ENVS, _ENVS, 4)).astype(np.float32)
    started = time.perf_counter()
    for action in actions:
        env.step(action)
    speed = len(actions) * _ENVS / (time.perf_counter() - started)
    env.close()
    return speed


def _make(way: str) -> Any:
    if way == "envpool":
        import envpool

        return envpool.make_gymnasium(_ENV, num_envs=_ENVS, num_threads=cores(), seed=0)
    if way == "lanes":
        from brittlestar.training.spec import TrainingSpec
        from brittlestar.training.vec_env import LaneVecEnv

        return LaneVecEnv(TrainingSpec(EnvSpec(id=_ENV), _algorithm(), threads=cores()))
    from stable_baselines3.common.env_util import make_vec_env
    from stable_baselines3.common.vec_env import SubprocVecEnv

    if way == "dummy":
        return make_vec_env(_ENV, _ENVS, seed=0)
    # Forked, so that the processes know the registered environments.
    return make_vec_env(_ENV, _ENVS, seed=0, vec_env_cls=SubprocVecEnv, vec_env_kwargs={"start_method": "fork"})
