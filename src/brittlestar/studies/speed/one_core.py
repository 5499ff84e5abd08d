"""The engine on one core: how near it comes to the bare loop, and what a cell costs in addition to its rollout."""

import tempfile
import time
from pathlib import Path
from statistics import median

from brittlestar.cells import run as cell
from brittlestar.config.build import load
from brittlestar.engine import evaluation
from brittlestar.engine.lanes import Lanes
from brittlestar.engine.plan import Plan
from brittlestar.engine.rollout import rollout
from brittlestar.engine.stack import Parts
from brittlestar.envs import EnvSpec
from brittlestar.policies import MlpPolicy
from brittlestar.sweeps.compose import Composer

from .bare_loop import bare_speed, record
from .sweeps import make_launcher
from .timing import Figure, clocked, take_turns

_BALANCING = 13
"""A random network that balances the pole for all 500 steps, as a trained one does."""
_MS = 1000.0


def cartpole(quick: bool) -> list[Figure]:
    """CartPole with a 64x64 network."""
    policy = MlpPolicy.random([4, 64, 64, 2], seed=_BALANCING, output="argmax")
    return _compare(load("env", "cartpole"), policy, Plan(32 if quick else 128), at_least=0.4)


def half_cheetah(quick: bool) -> list[Figure]:
    """HalfCheetah with a 2x256 network."""
    policy = MlpPolicy.random([17, 256, 256, 6], seed=0)
    return _compare(load("env", "half_cheetah", max_steps=100 if quick else 300), policy, Plan(64), at_least=0.8)


def _compare(spec: EnvSpec, policy: MlpPolicy, plan: Plan, at_least: float) -> list[Figure]:
    parts = Parts(policy, load("perturbation", "gaussian_observation", sigma=0.05))
    episodes = record(spec, parts, plan)
    lanes = Lanes(spec, min(spec.lanes, plan.episodes))

    def speed() -> float:
        started = time.process_time()
        steps = rollout(lanes, parts, plan).column("length").sum()
        return float(steps) / (time.process_time() - started)

    # Both sides are one thread without input or output, so processor time is the time on a core of its own.
    turns = take_turns(9, bare=lambda: bare_speed(spec.id, episodes, time.process_time), engine=speed)
    lanes.close()
    network = "x".join(str(size) for size in policy.sizes[1:-1])
    return [
        Figure("bare loop", turns.median("bare"), "steps/s"),
        Figure(f"engine, {network} network", turns.median("engine"), "steps/s"),
        Figure("engine / bare loop", turns.ratio("engine", "bare"), at_least=at_least),
    ]


def framework(quick: bool) -> list[Figure]:
    """Composes, then runs one-episode cells of CartPole in this process."""
    count = 10 if quick else 40
    with tempfile.TemporaryDirectory() as folder:
        composer = Composer(make_launcher(Path(folder)))
        fixed = ["env=cartpole", "policy=random", "episodes=1", f"store={folder}/store"]
        # The first cell only warms up.
        cell.run(composer.job(fixed, 0))
        jobs, composing, outside = [], [], []
        for seed in range(1, count + 1):
            started = time.perf_counter()
            jobs.append(composer.job([*fixed, f"seed={seed}"], seed))
            composing.append(time.perf_counter() - started)
        for job in jobs:
            with clocked(evaluation, "rollout") as rolling:
                started = time.perf_counter()
                outcome = cell.run(job)
                outside.append(time.perf_counter() - started - rolling.seconds)
            assert outcome.status == "done" and rolling.seconds > 0, outcome.error
    return [
        Figure("composing a cell in the launcher", median(composing) * _MS, "ms"),
        Figure("running a warm cell, less its rollout", median(outside) * _MS, "ms"),
        Figure("framework time per warm cell", (median(composing) + median(outside)) * _MS, "ms", at_most=30),
    ]
