"""A warm sweep of FetchReach on all cores against as many bare loops."""

from __future__ import annotations

import itertools
import os
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from brittlestar.cells import run as cell
from brittlestar.cells.job import Job
from brittlestar.config.build import load
from brittlestar.engine.cores import cores
from brittlestar.engine.plan import Plan
from brittlestar.engine.stack import Parts
from brittlestar.policies import Policy
from brittlestar.policies.sb3 import Sb3Policy
from brittlestar.sweeps.compose import Composer

from .figures import Figure
from .replay import Episode, bare_env, bare_speed, count_steps, record
from .sweeps import make_launcher, on_workers, run_sweep, stop_workers
from .timing import clocked, median_ratio, take_turns

_ID = "FetchReach-v4"
_SIGMA = 0.05
_CELL_EPISODES = 20


def fetch_reach(quick: bool) -> list[Figure]:
    """The P controller under observation noise."""
    with tempfile.TemporaryDirectory() as folder:
        return _compare(Path(folder), load("policy", "p_controller"), ["policy=p_controller"], quick)


def fetch_reach_sac(quick: bool) -> list[Figure]:
    """A SAC actor, 2x256, that has learnt nothing."""
    from stable_baselines3 import SAC

    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/model.zip"
        SAC("MultiInputPolicy", bare_env(_ID), seed=0, device="cpu", buffer_size=1).save(path)
        return _compare(Path(folder), Sb3Policy(path), ["policy=sb3", f"policy.path={path}"], quick)


def _compare(folder: Path, policy: Policy, words: list[str], quick: bool) -> list[Figure]:
    return _Comparison(folder, cores() * (2 if quick else 4), policy, words).figures(rounds=2 if quick else 5)


class _Comparison:
    """One sweep, and the same episodes in bare loops, one share per core."""

    def __init__(self, folder: Path, cells: int, policy: Policy, words: list[str]) -> None:
        self.seeds, self.cores, self.words = range(cells), cores(), words
        self.folders = (folder / str(number) for number in range(1000))
        parts = Parts(policy, load("perturbation", "gaussian_observation", sigma=_SIGMA))
        recorded = [record(load("env", "fetch_reach"), parts, Plan(_CELL_EPISODES, seed)) for seed in self.seeds]
        self.shares: list[list[Episode]] = [
            list(itertools.chain(*recorded[i :: self.cores])) for i in range(self.cores)
        ]
        self.steps = sum(count_steps(share) for share in self.shares)
        self.launcher = make_launcher(folder)

    def figures(self, rounds: int) -> list[Figure]:
        self.sweep()
        self.bare_on_all()
        turns = {"one": self.bare_on_one, "all": self.bare_on_all, "sweep": self.sweep, "share": self.share_in_mujoco}
        found = take_turns(rounds, **turns)
        stop_workers()
        limit = [self.cores * speed for speed in found["one"]]
        middle = {name: statistics.median(values) for name, values in found.items()}
        n = self.cores
        return [
            Figure("bare loop, one process", middle["one"], "steps/s"),
            Figure(f"bare loop, {n} processes at once", middle["all"], "steps/s"),
            Figure("cores that they really reach", median_ratio(found["all"], found["one"])),
            Figure(f"warm sweep, {n} workers", middle["sweep"], "steps/s"),
            Figure(f"warm sweep / {n} x bare loop", median_ratio(found["sweep"], limit), at_least=0.9),
            Figure(f"warm sweep / {n} bare loops at once", median_ratio(found["sweep"], found["all"]), at_least=0.9),
            Figure("share of wall x cores inside mj_step and mj_forward", middle["share"]),
        ]

    def bare_on_one(self) -> float:
        return bare_speed(_ID, self.shares[0])

    def bare_on_all(self) -> float:
        """Sums what the loops reach while all of them run."""
        return sum(on_workers(self.launcher, _bare_share, self.shares))

    def sweep(self) -> float:
        launcher, overrides = make_launcher(next(self.folders)), list(self.overrides(next(self.folders)))
        started = time.perf_counter()
        run_sweep(launcher, overrides)
        return self.steps / (time.perf_counter() - started)

    def share_in_mujoco(self) -> float:
        composer = Composer(make_launcher(next(self.folders)))
        jobs = [composer.job(o, number) for number, o in enumerate(self.overrides(next(self.folders)))]
        started = time.perf_counter()
        inside = on_workers(self.launcher, _seconds_in_mujoco, jobs)
        return float(sum(inside)) / (self.cores * (time.perf_counter() - started))

    def overrides(self, store: Path) -> Iterator[list[str]]:
        fixed = ["env=fetch_reach", *self.words, f"perturbation.sigma={_SIGMA}", f"episodes={_CELL_EPISODES}"]
        return ([*fixed, f"store={store}", f"seed={seed}"] for seed in self.seeds)


def _bare_share(episodes: list[Episode]) -> float:
    return bare_speed(_ID, episodes)


def _seconds_in_mujoco(job: Job) -> float:
    import mujoco

    with clocked(mujoco, "mj_step", "mj_forward") as clock:
        outcome = cell.run(job)
    if outcome.status != "done":
        raise RuntimeError(f"a cell ended as {outcome.status} in {os.getpid()}: {outcome.error}")
    return clock.seconds
