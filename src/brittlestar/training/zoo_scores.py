"""Measures a policy by the engine, on episodes that its training never saw."""

from __future__ import annotations

from typing import Any

import numpy as np

from brittlestar.config.build import build
from brittlestar.engine.cores import cores
from brittlestar.results.load import RATES
from brittlestar.statistics import stats

STRESS = ("perturbation", "mitigation", "stress_schedule")
"""What stands around the policy in training."""


def is_disturbed(config: dict[str, Any]) -> bool:
    """Says whether a training's config has a perturbation that does anything."""
    return not build(config["perturbation"], "perturbation").is_identity


def score(policy: Any, config: dict[str, Any], episodes: int, seed: int, disturbed: bool = False) -> dict[str, Any]:
    """Returns mean return and success rates with 95 % intervals over episodes.

    Args:
        policy: a `Policy`.
        config: of the training: nodes of `env`, and of what stood around the policy.
        episodes: how many.
        seed: of the evaluation; another one has other start states and other noise.
        disturbed: as in training, or clean.
    """
    from brittlestar.engine.evaluation import evaluate
    from brittlestar.engine.rollout import Parts, Plan

    spec = build(config["env"], "env")
    parts = Parts(policy, *(build(config[group], group) for group in STRESS)) if disturbed else Parts(policy)
    rows = evaluate(spec, parts, Plan(episodes, seed), threads=cores())
    rates = {name: rows.column(name) for name in RATES}
    known = {name: _rate(values) for name, values in rates.items() if np.isfinite(values).all()}
    return {"episodes": episodes, "seed": seed, "return": _mean(rows.column("return")), **known}


def rank(scores: list[dict[str, Any]]) -> tuple[float, float]:
    """Returns what orders policies by their scores: success at the end of the episode first, then the return.

    Example:
        >>> good = {"return": {"mean": 1.0}, "success_final": {"mean": 0.9}}
        >>> rank([good]) > rank([{"return": {"mean": 2.0}, "success_final": {"mean": 0.8}}])
        True
    """
    rates = [each["success_final"]["mean"] if "success_final" in each else 0.0 for each in scores]
    return float(np.mean(rates)), float(np.mean([each["return"]["mean"] for each in scores]))


def _mean(values: np.ndarray) -> dict[str, float]:
    mean, std = float(values.mean()), float(values.std(ddof=1))
    half = float(stats.t_half_width(std, len(values)))
    return {"mean": mean, "std": std, "low": mean - half, "high": mean + half}


def _rate(values: np.ndarray) -> dict[str, float]:
    interval = stats.wilson(int(values.sum()), len(values))
    return {"mean": float(values.mean()), "low": float(interval.low), "high": float(interval.high)}
