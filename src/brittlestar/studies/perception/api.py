"""A perception sweep in Python."""

from __future__ import annotations

import dataclasses
from typing import Any

from brittlestar.config.build import load
from brittlestar.engine.evaluation import run_episodes
from brittlestar.engine.plan import Plan
from brittlestar.engine.stack import Parts
from brittlestar.envs import EnvSpec
from brittlestar.errors import UserError
from brittlestar.studies.perception.axes import Axis, standard_dr_sweeps
from brittlestar.studies.perception.scores import PerceptionScores, score
from brittlestar.sweeps.in_memory import find_env, find_policy


def dr_sweep(
    env: str | EnvSpec, policy: Any, episodes_per_step: int = 20, configs: dict[str, Axis] | None = None, seed: int = 0
) -> PerceptionScores:
    """Measures success along every axis, on the same episodes at every level.

    Args:
        env: an environment with `pixels` and `success`, by name or as an `EnvSpec`; `"auto"` for that of the policy.
        policy: anything that `evaluate` takes.
        episodes_per_step: episodes at each level.
        configs: the axes; by default those of `standard_dr_sweeps`.
        seed: of start states and draws.
    """
    policy = find_policy(policy)
    spec, _ = find_env(env, policy)
    if spec.success is None:
        raise UserError(f"an area under success needs `success` of the environment {spec.id}")
    axes = standard_dr_sweeps() if configs is None else configs
    if not isinstance(axes, dict) or not all(isinstance(axis, Axis) for axis in axes.values()):
        raise UserError(f"`configs` must be axes by name, as `standard_dr_sweeps` returns them, got {axes!r}")
    successes: dict[str, dict[float, dict[int, Any]]] = {}
    for name, edited in axes.items():
        # Made again, so that edited numbers are checked.
        axis, curve = dataclasses.replace(edited), successes.setdefault(name, {})
        for level, strength in zip(axis.levels, axis.strengths, strict=True):
            parts = Parts(policy, load("perturbation", axis.perturbation, **{axis.strength: strength}))
            rows = run_episodes(spec, parts, Plan(episodes_per_step, seed))
            curve[level] = {seed: rows.column(f"success_{spec.success.when}")}
    return score(successes)
