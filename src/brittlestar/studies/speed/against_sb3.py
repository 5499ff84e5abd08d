"""A warm sweep with noise and all metrics against `evaluate_policy` of Stable-Baselines3 without them."""

from __future__ import annotations

import itertools
import statistics
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from brittlestar.engine.cores import cores

from .figures import Figure
from .sweeps import make_launcher, run_sweep, stop_workers
from .timing import median_ratio, take_turns


def sb3_half_cheetah(quick: bool) -> list[Figure]:
    """HalfCheetah with a 2x256 actor; it never falls, so it need not have learnt anything."""
    from stable_baselines3 import SAC

    model = SAC("MlpPolicy", "HalfCheetah-v5", seed=0, device="cpu", buffer_size=1)
    return _compare(model, "HalfCheetah-v5", "half_cheetah", (16 if quick else 64), one=15, best=5)


def sb3_cartpole(quick: bool) -> list[Figure]:
    """CartPole with a 64x64 PPO actor that has learnt to balance."""
    from stable_baselines3 import PPO

    model = PPO("MlpPolicy", "CartPole-v1", seed=0, device="cpu").learn(10_000 if quick else 40_000)
    return _compare(model, "CartPole-v1", "cartpole", 256, one=100, best=20)


def _compare(model: Any, env_id: str, env: str, episodes: int, one: float, best: float) -> list[Figure]:
    import torch

    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.save(f"{folder}/model.zip")
        folders = (Path(folder) / str(number) for number in range(1000))
        sweep = _Sweep(f"{folder}/model.zip", env, episodes, folders)
        sweep()
        found = take_turns(
            3,
            one=lambda: _evaluate(model, env_id, envs=1),
            eight=lambda: _evaluate(model, env_id, envs=8),
            ours=sweep,
        )
        stop_workers()
    middle = {name: statistics.median(values) for name, values in found.items()}
    return [
        Figure("evaluate_policy, one env", middle["one"], "steps/s"),
        Figure("evaluate_policy, 8 envs", middle["eight"], "steps/s"),
        Figure(f"warm sweep with noise, {cores()} workers", middle["ours"], "steps/s"),
        Figure("sweep / one env", median_ratio(found["ours"], found["one"]), at_least=one),
        Figure("sweep / 8 envs", median_ratio(found["ours"], found["eight"]), at_least=best),
    ]


def _evaluate(model: Any, env_id: str, envs: int) -> float:
    from stable_baselines3.common.env_util import make_vec_env
    from stable_baselines3.common.evaluation import evaluate_policy

    env = make_vec_env(env_id, envs, seed=0)
    started = time.perf_counter()
    lengths: Any = evaluate_policy(model, env, n_eval_episodes=8, return_episode_rewards=True)[1]
    seconds = time.perf_counter() - started
    env.close()
    return float(sum(lengths)) / seconds


class _Sweep:
    """Cells of one policy that differ in the seed, on all cores; every call computes new ones."""

    def __init__(self, path: str, env: str, episodes: int, folders: Iterator[Path]) -> None:
        self._folders, self._seeds = folders, itertools.count()
        fixed = [f"env={env}", "policy=sb3", f"policy.path={path}", "perturbation.sigma=0.05", f"episodes={episodes}"]
        self._fixed = fixed

    def __call__(self) -> float:
        launcher, store = make_launcher(next(self._folders)), next(self._folders)
        cells = [[*self._fixed, f"store={store}", f"seed={next(self._seeds)}"] for _ in range(4 * cores())]
        started = time.perf_counter()
        steps = run_sweep(launcher, cells)
        return steps / (time.perf_counter() - started)
