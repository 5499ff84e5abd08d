"""A perception sweep in Python."""

from __future__ import annotations

from typing import Any

from brittlestar.config.build import load
from brittlestar.engine.evaluation import run_episodes
from brittlestar.engine.plan import Plan
from brittlestar.engine.stack import Parts
from brittlestar.envs import EnvSpec
from brittlestar.errors import UserError
from brittlestar.policies import as_policy
from brittlestar.studies.perception.axes import Axis, standard_dr_sweeps
from brittlestar.studies.perception.scores import PerceptionScores, score


def dr_sweep(
    env: EnvSpec, policy: Any, episodes_per_step: int = 20, configs: dict[str, Axis] | None = None, seed: int = 0
) -> PerceptionScores:
    """Measures success along every axis, on the same episodes at every level.

    Args:
        env: an environment with `pixels` and `success`.
        policy: anything that `evaluate` takes.
        episodes_per_step: episodes at each level.
        configs: the axes; by default those of `standard_dr_sweeps`.
        seed: of start states and draws.
    """
    if env.success is None:
        raise UserError(f"an area under success needs `success` of the environment {env.id}")
    successes: dict[str, dict[float, dict[int, Any]]] = {}
    for name, axis in (configs or standard_dr_sweeps()).items():
        curve = successes.setdefault(name, {})
        for level, strength in zip(axis.levels, axis.strengths, strict=True):
            parts = Parts(as_policy(policy), load("perturbation", axis.perturbation, **{axis.strength: strength}))
            rows = run_episodes(env, parts, Plan(episodes_per_step, seed))
            curve[level] = {seed: rows.column(f"success_{env.success.when}")}
    return score(successes)
