"""Warm sweeps on all cores against bare loops, and against `evaluate_policy` of Stable-Baselines3."""

import functools
import itertools
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from brittlestar.cells import run as cell
from brittlestar.cells.job import Job
from brittlestar.config.build import load
from brittlestar.engine.cores import cores
from brittlestar.engine.plan import Plan
from brittlestar.engine.stack import Parts
from brittlestar.policies import Policy
from brittlestar.policies.sb3 import Sb3Policy
from brittlestar.sweeps import workers
from brittlestar.sweeps.compose import Composer

from .bare_loop import bare_env, bare_speed, record
from .sweeps import make_launcher, on_workers, run_sweep
from .timing import Figure, clocked, take_turns

_FETCH = "FetchReach-v4"
_SIGMA, _FETCH_EPISODES = 0.05, 20


class _Sweep:
    """Cells that differ in the seed, on all cores, in new folders at every call."""

    def __init__(self, folder: str, cells: int, *words: str) -> None:
        self._folders = (Path(folder) / str(number) for number in itertools.count())
        self._words, self._cells = (*words, f"perturbation.sigma={_SIGMA}"), cells

    def launcher(self) -> Any:
        """Returns a launcher of its own for one sweep."""
        return make_launcher(next(self._folders))

    def overrides(self) -> Iterator[list[str]]:
        """Yields the words of each cell, with a store of their own."""
        store = next(self._folders)
        return ([*self._words, f"store={store}", f"seed={seed}"] for seed in range(self._cells))

    def __call__(self) -> float:
        """Runs the sweep and returns its steps per second."""
        launcher, overrides = self.launcher(), list(self.overrides())
        started = time.perf_counter()
        steps = run_sweep(launcher, overrides)
        return steps / (time.perf_counter() - started)


def fetch_reach(quick: bool) -> list[Figure]:
    """The P controller under observation noise."""
    return _against_bare_loops(load("policy", "p_controller"), ["policy=p_controller"], quick)


def fetch_reach_sac(quick: bool) -> list[Figure]:
    """An untrained SAC actor, 2x256."""
    from stable_baselines3 import SAC

    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/model.zip"
        SAC("MultiInputPolicy", bare_env(_FETCH), seed=0, device="cpu", buffer_size=1).save(path)
        return _against_bare_loops(Sb3Policy(path), ["policy=sb3", f"policy.path={path}"], quick)


def _against_bare_loops(policy: Policy, words: list[str], quick: bool) -> list[Figure]:
    n, cells, bare_fetch_speed = cores(), cores() * (2 if quick else 4), functools.partial(bare_speed, _FETCH)
    parts = Parts(policy, load("perturbation", "gaussian_observation", sigma=_SIGMA))
    episodes = [record(load("env", "fetch_reach"), parts, Plan(_FETCH_EPISODES, seed)) for seed in range(cells)]
    shares = [list(itertools.chain(*episodes[i::n])) for i in range(n)]
    with tempfile.TemporaryDirectory() as folder:
        sweep = _Sweep(folder, cells, "env=fetch_reach", *words, f"episodes={_FETCH_EPISODES}")
        launcher = sweep.launcher()

        def bare_loops() -> float:
            return sum(on_workers(launcher, bare_fetch_speed, shares))

        # The sweep first: it starts the workers that all turns run on.
        take_turns(1, sweep=sweep, all=bare_loops)
        speeds = take_turns(
            2 if quick else 5,
            one=lambda: bare_fetch_speed(shares[0]),
            all=bare_loops,
            sweep=sweep,
            share=lambda: _share_in_mujoco(sweep),
        )
        workers.stop()
    return [
        Figure("bare loop, one process", speeds.median("one"), "steps/s"),
        Figure(f"bare loop, {n} processes at once", speeds.median("all"), "steps/s"),
        Figure("cores that they really reach", speeds.ratio("all", "one")),
        Figure(f"warm sweep, {n} workers", speeds.median("sweep"), "steps/s"),
        Figure(f"warm sweep / {n} x bare loop", speeds.ratio("sweep", "one") / n, at_least=0.9),
        Figure(f"warm sweep / {n} bare loops at once", speeds.ratio("sweep", "all"), at_least=0.9),
        Figure("share of wall x cores inside mj_step and mj_forward", speeds.median("share")),
    ]


def _share_in_mujoco(sweep: _Sweep) -> float:
    launcher = sweep.launcher()
    composer = Composer(launcher)
    jobs = [composer.job(words, number) for number, words in enumerate(sweep.overrides())]
    started = time.perf_counter()
    inside = on_workers(launcher, _seconds_in_mujoco, jobs)
    return float(sum(inside)) / (cores() * (time.perf_counter() - started))


def _seconds_in_mujoco(job: Job) -> float:
    import mujoco

    with clocked(mujoco, "mj_step", "mj_forward") as clock:
        outcome = cell.run(job)
    if outcome.status != "done":
        raise RuntimeError(f"a cell ended as {outcome.status}: {outcome.error}")
    return clock.seconds


def sb3_half_cheetah(quick: bool) -> list[Figure]:
    """HalfCheetah with an untrained 2x256 actor: its episodes all have the same length."""
    from stable_baselines3 import SAC

    model = SAC("MlpPolicy", "HalfCheetah-v5", seed=0, device="cpu", buffer_size=1)
    return _against_sb3(model, "HalfCheetah-v5", "half_cheetah", 16 if quick else 64, one=15, best=5)


def sb3_cartpole(quick: bool) -> list[Figure]:
    """CartPole with a 64x64 PPO actor that balances."""
    from stable_baselines3 import PPO

    model = PPO("MlpPolicy", "CartPole-v1", seed=0, device="cpu").learn(10_000 if quick else 40_000)
    return _against_sb3(model, "CartPole-v1", "cartpole", 256, one=100, best=20)


def _against_sb3(model: Any, env_id: str, env: str, episodes: int, one: float, best: float) -> list[Figure]:
    import torch

    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = f"{folder}/model.zip"
        model.save(path)
        words = (f"env={env}", "policy=sb3", f"policy.path={path}", f"episodes={episodes}")
        sweep = _Sweep(folder, 4 * cores(), *words)
        sweep()
        plain = {str(envs): functools.partial(_evaluate_policy, model, env_id, envs) for envs in (1, 8)}
        speeds = take_turns(3, **plain, ours=sweep)
        workers.stop()
    return [
        Figure("evaluate_policy, one env", speeds.median("1"), "steps/s"),
        Figure("evaluate_policy, 8 envs", speeds.median("8"), "steps/s"),
        Figure(f"warm sweep with noise, {cores()} workers", speeds.median("ours"), "steps/s"),
        Figure("sweep / one env", speeds.ratio("ours", "1"), at_least=one),
        Figure("sweep / 8 envs", speeds.ratio("ours", "8"), at_least=best),
    ]


def _evaluate_policy(model: Any, env_id: str, envs: int) -> float:
    from stable_baselines3.common.env_util import make_vec_env
    from stable_baselines3.common.evaluation import evaluate_policy

    env = make_vec_env(env_id, envs, seed=0)
    started = time.perf_counter()
    lengths: Any = evaluate_policy(model, env, n_eval_episodes=8, return_episode_rewards=True)[1]
    seconds = time.perf_counter() - started
    env.close()
    return float(sum(lengths)) / seconds
