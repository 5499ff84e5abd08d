"""The table of runs: one row per agent, stressor and seed."""

from __future__ import annotations

import math

import numpy as np

from brittlestar.results.load import Row
from brittlestar.studies.stress.agents import Agent, Run
from brittlestar.studies.stress.algorithms import algorithm_of, is_on_policy
from brittlestar.studies.stress.compat_channels import CHANNELS
from brittlestar.studies.stress.phases import phase_summary
from brittlestar.studies.stress.proof import same_actions
from brittlestar.studies.stress.scoring import PHASES

_LEAST_RETURN = 1e-8


def run_rows(agents: list[Agent], scoring: str) -> list[Row]:
    """Returns the table; `return_*` are true returns, `cvar_*` are of returns as the scoring sees them."""
    rows = []
    for agent in agents:
        label, returns = agent_label(agent), agent.config["env"].get("returns") or {}
        for stressor in agent.stressors:
            for run in stressor.runs:
                same = not stressor.is_baseline and acts_the_same(run, agent.twin(run))
                row: Row = {"seed": run.seed, "discrete": run.episodes.behaviour.layout.actions > 0}
                row |= {"is_baseline": stressor.is_baseline, "reward_only": same, "scoring": scoring}
                rows.append(label | stressor.label | row | _numbers(run, returns))
    return rows


def agent_label(agent: Agent) -> Row:
    """Returns the columns that distinguish an agent, and always its mode, environment id and algorithm."""
    config = agent.config
    algorithm = algorithm_of(config["policy"])
    mode = {"deterministic": bool(config.get("deterministic", True)), "env_id": str(config["env"].get("id"))}
    return agent.label | mode | {"algorithm": algorithm, "on_policy": is_on_policy(algorithm)}


def acts_the_same(run: Run, clean: Run | None) -> bool:
    """Returns whether all actions of the shock are those of the same episodes without stress."""
    shock = run.scored.within("shock")
    if clean is None or not shock.any():
        return False
    return same_actions(clean.episodes.behaviour, run.episodes.behaviour, shock).proven


def normalise(value: float, returns: Row) -> float:
    """Returns 0 at an environment's random return and 1 at its reference return; nan where they are unknown.

    Example:
        >>> normalise(60.0, {"random": 10.0, "reference": 110.0}), normalise(60.0, {"random": None})
        (0.5, nan)
    """
    low, high = returns.get("random"), returns.get("reference")
    return math.nan if low is None or high is None or low == high else (value - low) / (high - low)


def _numbers(run: Run, returns: Row) -> Row:
    scored, summary = run.scored, phase_summary(run.scored)
    true = run.episodes.behaviour.column("return")
    within = {phase: scored.within(phase) for phase in PHASES}
    row: Row = {"n_shock": int(within["shock"].sum()), "threshold": scored.threshold}
    row |= {f"rate_{phase}": summary[f"rate_{phase}"] for phase in PHASES}
    row |= {f"score_{phase}": _mean(scored.score[rows]) for phase, rows in within.items()}
    row |= {f"{name}_{phase}": summary[f"{name}_{phase}"] for name in ("identity", *CHANNELS) for phase in PHASES}
    row |= {"identity": summary["identity_mean"]}
    row |= {f"return_{phase}": _mean(true[rows]) for phase, rows in within.items()} | {"return_mean": _mean(true)}
    pre, shock = row["return_pre"], row["return_shock"]
    row |= {"normalised_return": normalise(pre, returns)}
    row |= {"return_degradation": (pre - shock) / max(abs(pre), _LEAST_RETURN)}
    return row | {name: summary[name] for name in ("cvar_05", "cvar_25", "recovery_episodes")}


def _mean(values: np.ndarray) -> float:
    return float(np.mean(values)) if len(values) else math.nan
