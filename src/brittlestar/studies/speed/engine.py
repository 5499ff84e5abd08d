"""The engine on one core, with small networks: how near it comes to the bare loop."""

from __future__ import annotations

import statistics
import time

from brittlestar.config.build import load
from brittlestar.engine.lanes import Lanes
from brittlestar.engine.plan import Plan
from brittlestar.engine.rollout import rollout
from brittlestar.engine.stack import Parts
from brittlestar.envs import EnvSpec
from brittlestar.policies import MlpPolicy

from .figures import Figure
from .replay import bare_speed, record
from .timing import median_ratio, take_turns

_BALANCING = 13
"""A random network that balances the pole for all 500 steps, as a trained one does."""


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

    # Both sides are one thread without input or output: its processor time is the time of a core of its own.
    found = take_turns(9, bare=lambda: bare_speed(spec.id, episodes, time.process_time), engine=speed)
    lanes.close()
    network = "x".join(str(size) for size in policy.sizes[1:-1])
    return [
        Figure("bare loop", statistics.median(found["bare"]), "steps/s"),
        Figure(f"engine, {network} network", statistics.median(found["engine"]), "steps/s"),
        Figure("engine / bare loop", median_ratio(found["engine"], found["bare"]), at_least=at_least),
    ]
