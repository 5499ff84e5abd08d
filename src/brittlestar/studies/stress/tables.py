"""The tables of a stress study: one row per agent and stressor, and one per episode."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from brittlestar.randomness import generator
from brittlestar.results.load import Row
from brittlestar.statistics import intervals
from brittlestar.statistics.effects import Effect, event_effect, paired_effect
from brittlestar.statistics.hypothesis_tests import holm
from brittlestar.statistics.intervals import LEVEL
from brittlestar.studies.stress.agents import Agent, Stressor
from brittlestar.studies.stress.compat_channels import CHANNELS
from brittlestar.studies.stress.phases import cvar, summarise
from brittlestar.studies.stress.proof import SameActions, same_actions
from brittlestar.studies.stress.standings import false_alarms

PHASES = ("pre", "shock", "post")
PHASE_RATES = tuple(f"rate_{phase}" for phase in PHASES)
DROPS = tuple(f"{name}_drop" for name in ("identity", *CHANNELS, "return"))
TAILS = {"cvar_05": 0.05, "cvar_25": 0.25}
_RESAMPLES = 1000


@dataclass
class StressTables:
    """Rows of `stress` and `stress_episodes`, and how they were scored."""

    stress: list[Row]
    episodes: list[Row]
    scoring: str
    alpha: float


def stress_tables(agents: list[Agent], scoring: str, alpha: float) -> StressTables:
    """Returns both tables."""
    stress = [row for agent in agents for row in _agent_rows(agent, scoring)]
    return StressTables(stress, [row for agent in agents for row in _episode_rows(agent)], scoring, alpha)


def _agent_rows(agent: Agent, scoring: str) -> list[Row]:
    alarms = _false_alarms(agent, scoring)
    rows = []
    for stressor in agent.stressors:
        if stressor.runs:
            counts = {"n_seeds": len(stressor.runs), "n_episodes": sum(len(run.names) for run in stressor.runs)}
            numbers = _summary(stressor) | alarms | _effects(agent, stressor)
            rows.append(agent.label | stressor.label | counts | numbers)
    for row, p in zip(rows, _holm([row["p_value"] for row in rows]), strict=True):
        row["p_holm"] = p
        row["verdict"] = row["verdict"] or _verdict(row)
    return rows


def _summary(stressor: Stressor) -> Row:
    """Every number with its interval: over seeds (Student's t), for rates at least Wilson; one seed: over episodes."""
    each = [summarise(run.scored) for run in stressor.runs]
    row: Row = {"threshold": float(np.mean([one["threshold"] for one in each]))}
    for name in (*PHASE_RATES, *DROPS, "residual", *TAILS, "recovery_episodes"):
        values = np.array([one[name] for one in each])
        known = values[~np.isnan(values)]
        low, high = _within(stressor, name) if len(values) == 1 else _bounds(intervals.t_interval(known))
        if name in PHASE_RATES:
            low, high = _rate_bounds(stressor, name.removeprefix("rate_"), low, high)
        mean = float(known.mean()) if len(known) else math.nan
        row |= {name: mean, f"{name}_low": low, f"{name}_high": high}
    for name in CHANNELS:
        row |= {f"{name}_{phase}": _mean([one[f"{name}_{phase}"] for one in each]) for phase in PHASES}
    recovered = [not math.isnan(one["recovery_episodes"]) for one in each]
    return row | {"recovered": float(np.mean(recovered))}


def _rate_bounds(stressor: Stressor, phase: str, low: float, high: float) -> tuple[float, float]:
    events = np.concatenate([run.scored.event[run.scored.within(phase)] for run in stressor.runs])
    if not len(events):
        return math.nan, math.nan
    return _bounds(intervals.at_least_wilson(low, high, int(events.sum()), len(events)))


def _bounds(interval: intervals.Interval) -> tuple[float, float]:
    return float(interval.low), float(interval.high)


def _within(stressor: Stressor, name: str) -> tuple[float, float]:
    """The interval of one seed, over its episodes."""
    scored = stressor.runs[0].scored
    if name in TAILS:
        return _tail_bounds(scored.returns[scored.within("shock")], TAILS[name])
    if name not in (*DROPS, "residual"):
        return math.nan, math.nan
    what = "identity" if name == "residual" else name.removesuffix("_drop")
    columns = {"identity": scored.identity, "return": scored.returns}
    values = columns[what] if what in columns else scored.channels[:, CHANNELS.index(what)]
    calm, other = (values[scored.within(phase)] for phase in ("pre", "post" if name == "residual" else "shock"))
    if min(len(calm), len(other)) < 2:
        return math.nan, math.nan
    error = math.sqrt(calm.var(ddof=1) / len(calm) + other.var(ddof=1) / len(other))
    # The smaller sample decides about the degrees of freedom: on the safe side.
    n = min(len(calm), len(other))
    half = float(intervals.t_half_width(error * math.sqrt(n), n))
    gap = float(calm.mean() - other.mean())
    return gap - half, gap + half


def _tail_bounds(returns: np.ndarray, share: float) -> tuple[float, float]:
    if len(returns) < 2:
        return math.nan, math.nan
    rng = generator(0, "stress/cvar")
    drawn = np.array([cvar(returns[rng.integers(len(returns), size=len(returns))], share) for _ in range(_RESAMPLES)])
    low, high = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def _false_alarms(agent: Agent, scoring: str) -> Row:
    """The share of events without stress, with its interval."""
    events = [each for each in false_alarms(agent, scoring) if len(each)]
    if not events:
        return {"false_alarms": math.nan, "false_alarms_low": math.nan, "false_alarms_high": math.nan}
    total = np.concatenate(events)
    over_seeds = intervals.t_interval([each.mean() for each in events])
    low, high = _bounds(intervals.at_least_wilson(over_seeds.low, over_seeds.high, int(total.sum()), len(total)))
    return {"false_alarms": float(total.mean()), "false_alarms_low": low, "false_alarms_high": high}


def _effects(agent: Agent, stressor: Stressor) -> Row:
    """Compares the shock with the same episodes without stress, and says whether any action was another one."""
    pairs = _pairs(agent, stressor)
    nothing = Effect(math.nan, math.nan, math.nan, math.nan, math.nan, math.nan, "")
    events = returns = nothing
    verdict = "no stress" if stressor.is_baseline else ""
    if pairs:
        shocks = [run.scored.within("shock") for run, _ in pairs]
        a, b = (
            [one.scored.event[rows] for one, rows in zip(runs, shocks, strict=True)]
            for runs in zip(*pairs, strict=True)
        )
        events = event_effect(np.array(a), np.array(b))
        a, b = (
            [one.episodes.behaviour.column("return")[rows] for one, rows in zip(runs, shocks, strict=True)]
            for runs in zip(*pairs, strict=True)
        )
        returns = paired_effect(np.array(a), np.array(b), generator(0, "stress/returns"))
        proof = _proof(
            [
                same_actions(clean.episodes.behaviour, run.episodes.behaviour, rows)
                for (run, clean), rows in zip(pairs, shocks, strict=True)
            ]
        )
        verdict = str(proof) if proof.proven else ""
    return {
        "excess": events.difference,
        "excess_low": events.low,
        "excess_high": events.high,
        "p_value": events.p_value,
        "return_effect": returns.difference,
        "return_effect_low": returns.low,
        "return_effect_high": returns.high,
        "return_p_value": returns.p_value,
        "verdict": verdict,
    }


def _pairs(agent: Agent, stressor: Stressor) -> list[tuple]:
    """Returns (stressed, clean) runs of the same episodes, if there are shocks of one length to compare."""
    baseline = agent.baseline
    if baseline is None or stressor.is_baseline:
        return []
    clean = {run.seed: run for run in baseline.runs}
    pairs = [(run, clean[run.seed]) for run in stressor.runs if run.seed in clean]
    pairs = [(run, other) for run, other in pairs if len(run.names) == len(other.names)]
    shocked = {int(run.scored.within("shock").sum()) for run, _ in pairs}
    return pairs if len(shocked) == 1 and shocked != {0} else []


def _proof(proofs: list[SameActions]) -> SameActions:
    first = next((proof.first for proof in proofs if proof.first is not None), None)
    return SameActions(sum(p.episodes for p in proofs), sum(p.different for p in proofs), first)


def _holm(p_values: list[float]) -> list[float]:
    known = [i for i, p in enumerate(p_values) if not math.isnan(p)]
    adjusted = [math.nan] * len(p_values)
    if known:
        for i, p in zip(known, holm([p_values[i] for i in known]).tolist(), strict=True):
            adjusted[i] = p
    return adjusted


def _verdict(row: Row) -> str:
    if math.isnan(row["p_holm"]):
        return "no baseline to compare with"
    return "collapse" if row["p_holm"] < 1 - LEVEL and row["excess_low"] > 0 else "no collapse shown"


def _episode_rows(agent: Agent) -> list[Row]:
    rows = []
    for stressor in agent.stressors:
        for run in stressor.runs:
            scored, place = run.scored, agent.label | stressor.label | {"seed": run.seed}
            numbers = zip(
                run.names,
                run.episodes.behaviour.column("return").tolist(),
                scored.returns.tolist(),
                scored.score.tolist(),
                scored.event.tolist(),
                scored.identity.tolist(),
                scored.channels.tolist(),
                strict=True,
            )
            for episode, (phase, true, seen, score, event, identity, channels) in enumerate(numbers):
                row = place | {"episode": episode, "phase": phase, "return": true, "return_seen": seen}
                row |= {"score": score, "threshold": scored.threshold, "event": event, "identity": identity}
                rows.append(row | dict(zip(CHANNELS, channels, strict=True)))
    return rows


def _mean(values: list[float]) -> float:
    known = [value for value in values if not math.isnan(value)]
    return float(np.mean(known)) if known else math.nan
