"""The leaderboard: agents of many sweeps against each other, in their environment and over all."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from brittlestar.errors import UserError
from brittlestar.results.grouping import sort_key
from brittlestar.results.load import Row
from brittlestar.results.ranges import cut, range_of
from brittlestar.statistics.correlations import pearson, spearman
from brittlestar.statistics.intervals import percentile_interval
from brittlestar.studies.stress.agent_scores import METRICS, AgentScores, agent_scores, reward_stressors
from brittlestar.studies.stress.agents import Agent
from brittlestar.studies.stress.ranking import pareto_front, rank_intervals, reward_norm, robust_score
from brittlestar.studies.stress.runs import normalise

_BOUNDED = ("robust_score", "stability")
_PUBLISHED = {
    "robust_score": "score", "robust_score_bare": "score_bare", "reward_norm": "reward_norm",
    "rate_inverted": "rate_inverted",
}  # fmt: skip
_PAIRS = (
    ("return and stability", "normalised_return", "stability"),
    ("return and robust score", "normalised_return", "robust_score"),
    ("return and robust score without its reward term", "normalised_return", "robust_score_bare"),
    ("reward_norm and robust score", "reward_norm", "robust_score"),
    ("reward_norm and robust score without its reward term", "reward_norm", "robust_score_bare"),
)
_COMPAT_PAIRS = (
    ("compat_1_4: reward_norm and score", "compat_reward_norm", "compat_score"),
    ("compat_1_4: reward_norm and score without its reward term", "compat_reward_norm", "compat_score_bare"),
    ("compat_1_4: reward_norm and CR_shock under valence_inversion", "compat_reward_norm", "compat_rate_inverted"),
)
_PUBLISHED_PAIRS = (("reward_norm and CR_shock under valence_inversion", "reward_norm", "rate_inverted"),)


@dataclass
class Leaderboard:
    """Rows, best first in their environment, and notes on them."""

    rows: list[Row]
    notes: list[str]


def make_leaderboard(agents: list[Agent], scoring: str, published: list[Agent] | None = None) -> Leaderboard:
    """Returns one row per agent, environment and mode; `published` are the same agents, scored as published."""
    scores = agent_scores(agents, scoring)
    if not scores:
        raise UserError("these sweeps hold no cell with stress: add stressors to the baseline")
    rows = _rows(scores)
    if published is not None:
        twins = {_identity(row): row for row in _rows(agent_scores(published, "compat_1_4"))}
        for row in rows:
            other = twins[_identity(row)]
            row |= {f"compat_{end}": other[name] for name, end in _PUBLISHED.items()}
    by = "rank_stability" if scoring == "rigorous" else "rank_robust"
    rows.sort(
        key=lambda row: sort_key([row["env"], row["env_id"], not row["deterministic"], _last(row[by]), *_identity(row)])
    )
    return Leaderboard(rows, _notes(scores, rows, agents, scoring))


def _rows(agents: list[AgentScores]) -> list[Row]:
    """Returns the rows in the order of the agents."""
    point, draws = np.stack([agent.point for agent in agents]), np.stack([agent.draws for agent in agents], axis=2)
    places = [agent.place for agent in agents]
    now, drawn = (_scores(values, places) for values in (point, draws))
    columns = dict(now)
    for name in _BOUNDED:
        lows, highs = zip(*(map(np.asarray, percentile_interval(draw)) for draw in drawn[name]), strict=True)
        interval = cut(
            range_of(name), now[name], np.fmin.reduce([now[name], *lows]), np.fmax.reduce([now[name], *highs])
        )
        columns[f"{name}_low"], columns[f"{name}_high"] = map(np.asarray, interval)
    rows = [_row(agent) for agent in agents]
    for name, values in columns.items():
        for row, value in zip(rows, values.tolist(), strict=True):
            row[name] = value
    for members in _groups(places):
        clean = point[members, METRICS.index("clean_return")]
        for i, best in zip(members, _front(clean, now["stability"][members]), strict=True):
            rows[i] |= {"pareto": best, "n_agents": len(members)}
    for rank, score in (("rank_robust", "robust_score"), ("rank_stability", "stability")):
        _rank(rows, rank, now[score], drawn[score], _groups(places))
        # Modes never compete: both are the same agents.
        _rank(rows, f"{rank}_overall", now[score], drawn[score], _groups([place[-1] for place in places]))
    return [row | {"interval_method": agent.method} for row, agent in zip(rows, agents, strict=True)]


def _row(agent: AgentScores) -> Row:
    row = agent.label | {"n_seeds": len(agent.seeds), "n_stressors": len(agent.stressors), "false_alarms": agent.alarms}
    row |= dict(zip(METRICS, agent.point.tolist(), strict=True))
    return row | {"normalised_return": normalise(row["clean_return"], agent.returns)}


def _scores(values: np.ndarray, places: list[tuple]) -> dict[str, np.ndarray]:
    """Returns the scores of `(..., agents, metrics)`; each has the shape `(..., agents)`."""
    identity, rate, excess, returns = (values[..., METRICS.index(name)] for name in METRICS[:4])
    normed = np.zeros_like(returns)
    for members in _groups(places):
        normed[..., members] = reward_norm(returns[..., members])
    return {
        "reward_norm": normed,
        "robust_score": robust_score(identity, rate, normed),
        "robust_score_bare": robust_score(identity, rate, np.zeros_like(normed)),
        # No agent is more than stable, also if fewer of its episodes collapse with stress than without.
        "stability": np.minimum(1.0, 1.0 - excess),
    }


def _groups(keys: Iterable) -> list[list[int]]:
    groups: dict = {}
    for i, key in enumerate(keys):
        groups.setdefault(key, []).append(i)
    return list(groups.values())


def _front(returns: np.ndarray, stability: np.ndarray) -> list[bool | None]:
    """Returns which agents are on the front; None for agents without a baseline, which have no stability."""
    complete = np.flatnonzero(~np.isnan(stability) & ~np.isnan(returns))
    front: list[bool | None] = [None] * len(stability)
    for i, best in zip(complete, pareto_front(returns[complete].round(9), stability[complete].round(9)), strict=True):
        front[i] = bool(best)
    return front


def _rank(rows: list[Row], name: str, scores: np.ndarray, draws: np.ndarray, groups: list[list[int]]) -> None:
    for members in groups:
        (rank, *first), (_, *second) = (rank_intervals(scores[members], draw[:, members]) for draw in draws)
        low, high = np.fmin(first[0], second[0]), np.fmax(first[1], second[1])
        for i, *values in zip(members, rank, low, high, strict=True):
            whole = [None if math.isnan(value) else int(value) for value in values]
            rows[i] |= dict(zip((name, f"{name}_low", f"{name}_high"), whole, strict=True))


def _identity(row: Row) -> tuple:
    names = list(row)
    return tuple(row[name] for name in names[: names.index("n_seeds")])


def _last(rank: int | None) -> float:
    return math.inf if rank is None else rank


def _notes(scores: list[AgentScores], rows: list[Row], agents: list[Agent], scoring: str) -> list[str]:
    notes = []
    harmless = sorted({str(key[0]) for key in reward_stressors(agents)})
    if harmless:
        where = "collapse rates" if scoring == "rigorous" else "stability"
        notes.append(f"no action of any agent is another one under {', '.join(harmless)}: left out of {where}")
    unstable = [f"{row['policy']} in {row['env']}" for row in rows if math.isnan(row["stability"])]
    if unstable:
        notes.append(f"no baseline to compare with, so no stability: {'; '.join(unstable)}")
    unknown = sorted({str(row["env_id"]) for row in rows if math.isnan(row["normalised_return"])})
    if unknown:
        notes.append(f"no fixed random and reference return (`env.returns`), so none normalised: {', '.join(unknown)}")
    for members in _groups([agent.place for agent in scores]):
        kinds = {tuple(sorted(scores[i].stressors)) for i in members}
        if len(kinds) > 1:
            place = scores[members[0]].label["env_id"]
            notes.append(f"agents in {place} met different stressors: their ranks do not compare them fairly")
    if any(len(agent.seeds) == 1 for agent in scores):
        notes.append("agents with one seed: intervals over its episodes do not cover other seeds")
    return notes


def correlation_rows(rows: list[Row]) -> list[Row]:
    """Returns Pearson's and Spearman's correlations with p values, one row per pair and mode.

    The modes are apart, because both are the same agents. nan for fewer than three agents, or where all have the same
    value.
    """
    pairs = (*_PAIRS, *(_COMPAT_PAIRS if "compat_score" in rows[0] else _PUBLISHED_PAIRS))
    correlations = []
    for deterministic in sorted({row["deterministic"] for row in rows}, reverse=True):
        members = [row for row in rows if row["deterministic"] == deterministic]
        for name, x, y in pairs:
            columns = [row[x] for row in members], [row[y] for row in members]
            linear, ranks = pearson(*columns), spearman(*columns)
            numbers = {"n": linear.n, "pearson": linear.r, "pearson_p": linear.p}
            numbers |= {"spearman": ranks.r, "spearman_p": ranks.p}
            correlations.append({"correlation": name, "x": x, "y": y, "deterministic": deterministic} | numbers)
    return correlations
