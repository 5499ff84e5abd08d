"""The table of runs: one row per agent, stressor and seed."""

import math

import numpy as np

from brittlestar.engine.behaviour import Behaviour
from brittlestar.errors import UserError
from brittlestar.results.load import Row
from brittlestar.studies.stress.agents import Agent, Run
from brittlestar.studies.stress.algorithms import algorithm_of, is_on_policy
from brittlestar.studies.stress.compat_channels import CHANNELS
from brittlestar.studies.stress.phases import phase_summary
from brittlestar.studies.stress.scoring import PHASES, mean_or_nan

SILENT = "cannot affect behaviour"
"""Start of the verdict on a stressor that changed no action."""
_LEAST_RETURN = 1e-8
OWN_RETURN = "own return"
"""Name of the scale of a loss where the fixed returns of an environment are unknown."""


def run_rows(agents: list[Agent], scoring: str) -> list[Row]:
    """Returns the table; `return_*` are true returns, `cvar_*` are of returns as the scoring sees them."""
    rows = []
    for agent in agents:
        label, returns = agent_label(agent), agent.config["env"].get("returns") or {}
        for stressor in agent.stressors:
            for run in stressor.runs:
                same = not stressor.is_baseline and acts_the_same(run, agent.twin(run))
                row: Row = {"seed": run.seed, "discrete": run.episodes.behaviour.layout.actions > 0}
                row |= {"training": run.training} if run.training else {}
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
    return same_actions(clean.episodes.behaviour, run.episodes.behaviour, shock)


def normalise(value: float, returns: Row) -> float:
    """Returns 0 at an environment's random return and 1 at its reference return; nan where they are unknown.

    Example:
        >>> normalise(60.0, {"random": 10.0, "reference": 110.0}), normalise(60.0, {"random": None})
        (0.5, nan)
    """
    low, high = returns.get("random"), returns.get("reference")
    return math.nan if low is None or high is None or low == high else (value - low) / (high - low)


def return_scale(agent: Agent) -> tuple[float, str]:
    """Returns what a loss of return is divided by, and its name.

    That is the reference minus the random return of the environment, or the agent's own return without stress where
    these are unknown.
    """
    returns = agent.config["env"].get("returns") or {}
    low, high = returns.get("random"), returns.get("reference")
    if low is not None and high is not None and low != high:
        return high - low, "env.returns"
    calm = [run.episodes.behaviour.column("return").mean() for run in agent.baseline]
    own = abs(float(np.mean(calm))) if calm else math.nan
    return own if own > _LEAST_RETURN else math.nan, OWN_RETURN


def _numbers(run: Run, returns: Row) -> Row:
    scored, summary = run.scored, phase_summary(run.scored)
    true = run.episodes.behaviour.column("return")
    within = {phase: scored.within(phase) for phase in PHASES}
    row: Row = {"n_shock": int(within["shock"].sum()), "threshold": scored.threshold}
    row |= {f"rate_{phase}": summary[f"rate_{phase}"] for phase in PHASES}
    row |= {f"score_{phase}": mean_or_nan(scored.score[rows]) for phase, rows in within.items()}
    row |= {f"{name}_{phase}": summary[f"{name}_{phase}"] for name in ("identity", *CHANNELS) for phase in PHASES}
    row |= {"identity": summary["identity_mean"]}
    row |= {f"return_{phase}": mean_or_nan(true[rows]) for phase, rows in within.items()} | {
        "return_mean": mean_or_nan(true)
    }
    pre, shock = row["return_pre"], row["return_shock"]
    row |= {"normalised_return": normalise(pre, returns)}
    row |= {"return_degradation": (pre - shock) / max(abs(pre), _LEAST_RETURN)}
    return row | {name: summary[name] for name in ("cvar_05", "cvar_25", "recovery_episodes")}


def is_silent(row: Row) -> bool:
    """Returns whether it is proven that a stressor changed no action, by its verdict.

    Example:
        >>> is_silent({"verdict": f"{SILENT}: identical actions"}), is_silent({"verdict": "collapse"})
        (True, False)
    """
    return str(row.get("verdict")).startswith(SILENT)


def same_actions(clean: Behaviour, stressed: Behaviour, mask: np.ndarray) -> bool:
    """Returns whether the masked episodes have the same actions, by their digests.

    Both must be runs of the same episodes: same policy, mode, seed and start states.
    """
    if clean.layout != stressed.layout or len(clean) != len(stressed):
        raise UserError(
            f"only the same episodes can be compared, got {len(clean)} of {clean.layout} "
            f"and {len(stressed)} of {stressed.layout}"
        )
    return all((clean.column(name) == stressed.column(name))[mask].all() for name in ("digest", "length"))
