"""The LaTeX tables of a leaderboard: agents, collapse rates by environment and stressor, false alarms."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from brittlestar.results.grouping import sort_key
from brittlestar.results.load import Row
from brittlestar.results.rows import group_rows
from brittlestar.statistics.intervals import LEVEL, at_least_wilson, t_interval, wilson
from brittlestar.statistics.resampling import RESAMPLES
from brittlestar.studies.stress.agent_scores import calm_events
from brittlestar.studies.stress.agents import Agent
from brittlestar.studies.stress.latex import Markup, escape, interval, latex_bounded, latex_number, stacked, table
from brittlestar.studies.stress.runs import agent_label

_MODES = {True: "det.", False: "stoch."}
_HEADING = "env"
_COLUMNS = {
    "return": "normalised_return", "stability": "stability", "front": "pareto", "rank": "rank_stability",
    "CR": "rate_shock", "FPR": "false_alarms", "robust score": "robust_score", "its rank": "rank_robust",
}  # fmt: skip


def leaderboard_table(rows: list[Row], scoring: str, labels: list[str]) -> str:
    """Returns one line per agent; `labels` are the columns that distinguish agents."""
    columns = _COLUMNS | ({"compat score": "compat_score"} if "compat_score" in rows[0] else {})
    by = "stability" if scoring == "rigorous" else "robust score"
    caption = (
        f"Agents by {by}, scored by {scoring}. Return: without stress, 0 at random and 1 at the reference. "
        "Stability: 1 minus the mean excess of the collapse rate over that of the same episodes without stress. Front: "
        "no other agent of the environment beats it in one of both without losing in the other. In brackets: "
        f"{100 * LEVEL:g} % intervals, bootstrap with {RESAMPLES} resamples."
    )
    if "deterministic" in labels:
        caption += " Actions: the policy's best (det.) or sampled ones (stoch.)."
    left = [name for name in labels if name not in ("algorithm", _HEADING)]
    lines: list[list[Any]] = []
    for place, part in group_rows(rows, [_HEADING] if _HEADING in labels else []).items():
        lines += [[*place]] if place else []
        lines += [
            [*(_text(row, name) for name in left), *(latex_bounded(row, column) for column in columns.values())]
            for row in part
        ]
    heads = ["mode" if name == "deterministic" else name for name in left]
    heads += [*(stacked(*name.split()) for name in columns)]
    return table(lines, heads, caption, "leaderboard", left=len(left))


def stress_table(runs: list[Row], scoring: str) -> str:
    """Returns collapse rates of the shock, environments by stressors, with intervals over seeds."""
    columns = ("is_baseline", "perturbation", "strength")
    stressors = sorted(group_rows(runs, columns), key=lambda key: (not key[0], sort_key(key[1:])))
    names = [str(name) for _, name, _ in stressors]
    strengths = [f"{strength:g}" if names.count(str(name)) > 1 else "" for _, name, strength in stressors]
    lines = []
    for (place,), rows in group_rows(runs, ["env_id"]).items():
        cells = group_rows(rows, columns)
        lines.append([str(place), *(_rate(cells.get(key, []), scoring) for key in stressors)])
    words = [f"{name}_{strength}".strip("_").split("_") for name, strength in zip(names, strengths, strict=True)]
    heads = [stacked(*map(escape, parts)) for parts in words]
    note = "A dash: identical actions, so that it cannot affect behaviour."
    if scoring != "rigorous":
        note = r"\dag: identical actions; the rate is the stressor's own bookkeeping."
    caption = (
        f"Collapse rates in the shock, scored by {scoring}: means over agents, seeds and modes. In brackets: "
        f"{100 * LEVEL:g} % intervals of the mean over these agents (Student's t over seeds, at least "
        "Wilson's over episodes). "
    )
    return table(lines, ["environment", *heads], Markup(escape(caption) + note), "stress")


def false_alarm_table(agents: Iterable[Agent], scoring: str, alpha: float) -> str:
    """Returns the share of events without stress in each environment."""
    places: dict[str, list[list[np.ndarray]]] = {}
    for agent in agents:
        events = calm_events(agent, scoring)
        if events:
            places.setdefault(str(agent_label(agent)["env_id"]), []).append(events)
    lines = []
    for name, members in sorted(places.items()):
        every = np.concatenate([events for agent in members for events in agent])
        over_episodes = wilson(int(every.sum()), len(every))
        row = {"rate": float(every.mean()), "rate_low": over_episodes.low, "rate_high": over_episodes.high}
        rates = [float(np.concatenate(agent).mean()) for agent in members]
        lines.append([name, len(members), len(every), latex_bounded(row, "rate", 3), latex_number(max(rates), 3)])
    accepted = f"at most {alpha:g} by construction" if scoring == "rigorous" else "0.05 intended"
    caption = (
        f"Unstressed episodes that {scoring} takes for a collapse ({accepted}), with Wilson's {100 * LEVEL:g} % "
        "interval over episodes, and the rate of the agent with the most."
    )
    return table(lines, ["environment", "agents", "episodes", "FPR", "highest"], caption, "false_alarms")


def _rate(rows: list[Row], scoring: str) -> Markup:
    same, n = all(row["reward_only"] for row in rows), sum(row["n_shock"] for row in rows)
    if not n or (same and scoring == "rigorous"):
        return latex_number(None)
    seeds = [np.mean([row["rate_shock"] for row in part]) for part in group_rows(rows, ["seed"]).values()]
    events, over_seeds = round(sum(row["rate_shock"] * row["n_shock"] for row in rows)), t_interval(seeds)
    bounds = at_least_wilson(over_seeds.low, over_seeds.high, events, n)
    return stacked(latex_number(float(np.mean(seeds))) + (r"\dag" if same else ""), interval(bounds.low, bounds.high))


def _text(row: Row, name: str) -> str:
    if name == "deterministic":
        return _MODES[row[name]]
    return "" if row[name] is None else str(row[name])
