"""The tables of a stress study: one row per agent and stressor, and one per episode."""

import math
from dataclasses import dataclass

import numpy as np

from brittlestar.randomness import generator
from brittlestar.results.load import Row
from brittlestar.results.ranges import cut, range_of
from brittlestar.statistics.arrays import without_nan
from brittlestar.statistics.effects import Effect, event_effect, paired_effect
from brittlestar.statistics.hypothesis_tests import holm, holm_levels
from brittlestar.statistics.intervals import LEVEL, Interval, at_least_wilson, t_half_width, t_interval
from brittlestar.statistics.variance_split import split_variance
from brittlestar.studies.stress.agent_scores import calm_events
from brittlestar.studies.stress.agents import Agent, StressorRuns
from brittlestar.studies.stress.compat_channels import CHANNELS
from brittlestar.studies.stress.phases import cvar, phase_summary
from brittlestar.studies.stress.runs import SILENT, acts_the_same, return_scale
from brittlestar.studies.stress.scoring import PHASES, Scored, mean_or_nan

PHASE_RATES = tuple(f"rate_{phase}" for phase in PHASES)
COLLAPSE = "collapse"
"""Verdict on a stressor under which more episodes collapse than without stress, beyond chance."""
CALM = "no stress"
"""Verdict on the baseline."""
MOST_RATE_SD = 0.5
"""Numbers between 0 and 1 have no larger standard deviation."""
_DROPS = tuple(f"{name}_drop" for name in ("identity", *CHANNELS, "return"))
_TAILS = {"cvar_05": 0.05, "cvar_25": 0.25}
_RESAMPLES = 1000
_UNKNOWN = math.nan, math.nan
_NOTHING = np.empty(0)


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
    stressors = [stressor for stressor in agent.stressors if stressor.runs]
    shocks = [Shock.of(agent, stressor) for stressor in stressors]
    rows = []
    for stressor, shock, effects in zip(stressors, shocks, shock_effects(shocks), strict=True):
        counts = {"n_seeds": len(stressor.runs), "n_episodes": sum(len(run.names) for run in stressor.runs)}
        verdict = CALM if stressor.is_baseline else shock.proof or _verdict(effects)
        row = agent.label | stressor.label | counts | _summary(stressor) | _trainings(stressor) | alarms | effects
        rows.append(row | {"verdict": verdict} | _loss(agent, effects))
    return rows


def _summary(stressor: StressorRuns) -> Row:
    """Returns numbers with intervals: over seeds (Student's t), for rates at least Wilson; one seed: over episodes."""
    summaries = [phase_summary(run.scored) for run in stressor.runs]
    row: Row = {"threshold": float(np.mean([summary["threshold"] for summary in summaries]))}
    for name in (*PHASE_RATES, *_DROPS, "residual", *_TAILS, "recovery_episodes"):
        values = without_nan([summary[name] for summary in summaries])
        single = len(summaries) == 1
        low, high = _within(stressor.runs[0].scored, name) if single else _bounds(t_interval(values))
        if name in PHASE_RATES:
            low, high = _rate_bounds(stressor, name.removeprefix("rate_"), low, high)
        mean = mean_or_nan(values)
        low, high = _bounds(cut(range_of(name), mean, low, high))
        row |= {name: mean, f"{name}_low": low, f"{name}_high": high}
    for column in (f"{name}_{phase}" for name in CHANNELS for phase in PHASES):
        row[column] = mean_or_nan(without_nan([summary[column] for summary in summaries]))
    recovered = [not math.isnan(summary["recovery_episodes"]) for summary in summaries]
    return row | {"recovered": float(np.mean(recovered))}


def _trainings(stressor: StressorRuns) -> Row:
    """Returns how much the collapse rates of trainings differ, and how much they would by chance; only with several.

    Each seed must be a training of its own, or trainings and episodes could not be distinguished.
    """
    names = {run.training for run in stressor.runs}
    events = [run.scored.event[run.scored.within("shock")] for run in stressor.runs]
    if "" in names or not 1 < len(names) == len(events) or min(map(len, events)) < 2:
        return {}
    split = split_variance(events, most=MOST_RATE_SD)
    row = {"training_sd": split.between, "training_sd_low": split.between_low, "training_sd_high": split.between_high}
    return {"trainings": len(names), "evaluation_sd": split.within} | row


def _bounds(interval: Interval) -> tuple[float, float]:
    return float(interval.low), float(interval.high)


def _rate_bounds(stressor: StressorRuns, phase: str, low: float, high: float) -> tuple[float, float]:
    events = np.concatenate([run.scored.event[run.scored.within(phase)] for run in stressor.runs])
    return _bounds(at_least_wilson(low, high, int(events.sum()), len(events))) if len(events) else _UNKNOWN


def _within(scored: Scored, name: str) -> tuple[float, float]:
    """Returns the interval of one seed, over its episodes."""
    if name in _TAILS:
        return _tail_bounds(scored.returns[scored.within("shock")], _TAILS[name])
    if name not in (*_DROPS, "residual"):
        return _UNKNOWN
    column = "identity" if name == "residual" else name.removesuffix("_drop")
    columns = {"identity": scored.identity, "return": scored.returns}
    values = columns[column] if column in columns else scored.channels[:, CHANNELS.index(column)]
    calm, other = (values[scored.within(phase)] for phase in ("pre", "post" if name == "residual" else "shock"))
    # The smaller sample gives the degrees of freedom, which is conservative.
    n = min(len(calm), len(other))
    if n < 2:
        return _UNKNOWN
    error = math.sqrt(calm.var(ddof=1) / len(calm) + other.var(ddof=1) / len(other))
    half = float(t_half_width(error * math.sqrt(n), n))
    gap = float(calm.mean() - other.mean())
    return gap - half, gap + half


def _tail_bounds(returns: np.ndarray, share: float) -> tuple[float, float]:
    if len(returns) < 2:
        return _UNKNOWN
    rng = generator(0, "stress/cvar")
    draws = np.array([cvar(returns[rng.integers(len(returns), size=len(returns))], share) for _ in range(_RESAMPLES)])
    low, high = np.quantile(draws, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def _false_alarms(agent: Agent, scoring: str) -> Row:
    """Returns the share of events without stress, with its interval."""
    events = [seed for seed in calm_events(agent, scoring) if len(seed)]
    if not events:
        return dict.fromkeys(("false_alarms", "false_alarms_low", "false_alarms_high"), math.nan)
    total, over_seeds = np.concatenate(events), t_interval([seed.mean() for seed in events])
    low, high = _bounds(at_least_wilson(over_seeds.low, over_seeds.high, int(total.sum()), len(total)))
    return {"false_alarms": float(total.mean()), "false_alarms_low": low, "false_alarms_high": high}


@dataclass(frozen=True)
class Shock:
    """The shock of all seeds with stress and the same episodes without it; empty if they cannot be compared."""

    events: tuple[np.ndarray, np.ndarray]
    returns: tuple[np.ndarray, np.ndarray]
    proof: str
    """That no action differs; empty if one does."""

    @classmethod
    def of(cls, agent: Agent, stressor: StressorRuns) -> "Shock":
        """Returns the shock under a stressor."""
        twins = [] if stressor.is_baseline else [(run, agent.twin(run)) for run in stressor.runs]
        pairs = [(run, clean, run.scored.within("shock")) for run, clean in twins if clean is not None]
        # Only shocks of one length can be compared.
        if len({int(shock.sum()) for *_, shock in pairs}) != 1 or not pairs[0][2].any():
            return cls((_NOTHING, _NOTHING), (_NOTHING, _NOTHING), "")
        count = sum(int(shock.sum()) for *_, shock in pairs)
        silent = all(acts_the_same(run, clean) for run, clean, _ in pairs)
        proof = f"{SILENT}: identical actions in {count} of {count} episodes" if silent else ""
        sides = [(run, shock) for run, _, shock in pairs], [(clean, shock) for _, clean, shock in pairs]
        events = [np.array([run.scored.event[shock] for run, shock in side]) for side in sides]
        returns = [np.array([run.episodes.behaviour.column("return")[shock] for run, shock in side]) for side in sides]
        return cls((events[0], events[1]), (returns[0], returns[1]), proof)


def shock_effects(shocks: list[Shock]) -> list[Row]:
    """Compares each shock with the same episodes without stress, by events and by returns.

    The interval of `excess` has the level at which Holm's step tests the stressor, so that it agrees with `p_holm`.
    """
    compared = [shock for shock in shocks if shock.events[0].size]
    p_values = [event_effect(*shock.events).p_value for shock in compared]
    adjusted, levels = holm(p_values), 1 - holm_levels(p_values, 1 - LEVEL)
    tests = iter(zip(adjusted.tolist(), levels.tolist(), strict=True))
    rows = []
    for shock in shocks:
        p_holm, level = next(tests) if shock.events[0].size else _UNKNOWN
        events = returns = Effect(math.nan, math.nan, math.nan, math.nan, "")
        if shock.events[0].size:
            events = event_effect(*shock.events, level)
            returns = paired_effect(*shock.returns, generator(0, "stress/returns"))
        row: Row = {}
        for name, p_name, effect in (("excess", "p_value", events), ("return_effect", "return_p_value", returns)):
            row |= {name: effect.difference, f"{name}_low": effect.low, f"{name}_high": effect.high}
            row[p_name] = effect.p_value
        rows.append(row | {"p_holm": p_holm, "excess_level": level})
    return rows


def _loss(agent: Agent, effects: Row) -> Row:
    """Returns the return that is lost in the shock, on a scale that environments share; below 0 is a gain."""
    scale, name = return_scale(agent)
    ends = (("", ""), ("_low", "_high"), ("_high", "_low"))
    loss = {f"normalised_loss{end}": 0.0 - effects[f"return_effect{other}"] / scale for end, other in ends}
    return loss | {"loss_scale": name}


def _verdict(effects: Row) -> str:
    if math.isnan(effects["p_holm"]):
        return "no baseline to compare with"
    return COLLAPSE if effects["excess_low"] > 0 else "no collapse shown"


def _episode_rows(agent: Agent) -> list[Row]:
    rows = []
    for stressor in agent.stressors:
        for run in stressor.runs:
            scored, label = run.scored, agent.label | stressor.label | {"seed": run.seed}
            columns = {
                "phase": run.names,
                "return": run.episodes.behaviour.column("return").tolist(),
                "return_seen": scored.returns.tolist(),
                "score": scored.score.tolist(),
                "threshold": [scored.threshold] * len(run.names),
                "event": scored.event.tolist(),
                "identity": scored.identity.tolist(),
            } | dict(zip(CHANNELS, scored.channels.T.tolist(), strict=True))
            for episode, values in enumerate(zip(*columns.values(), strict=True)):
                rows.append(label | {"episode": episode} | dict(zip(columns, values, strict=True)))
    return rows
