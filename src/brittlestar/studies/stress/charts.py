"""Charts of a stress study for the page of a sweep: scores over episodes, and the channels under stress."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from brittlestar.reports.curve_names import curve_names
from brittlestar.reports.page.numbers import rounded
from brittlestar.reports.sections import Chart
from brittlestar.results.format import text
from brittlestar.results.load import Row
from brittlestar.results.rows import group_rows
from brittlestar.studies.stress.compat_channels import CHANNELS
from brittlestar.studies.stress.plots import columns_of_agents, stressor_columns, stressor_name
from brittlestar.studies.stress.runs import is_silent
from brittlestar.studies.stress.tables import CALM, StressTables

_MOST_PANELS = 200
_DIGITS = 4


def stress_charts(tables: StressTables, pictures: list[str]) -> list[Chart]:
    """Returns a timeline and a radar, which replace the pictures of the study; a panel per agent, or also stressor."""
    keys = columns_of_agents(tables)
    agents, episodes = group_rows(tables.stress, keys), group_rows(tables.episodes, keys)
    names = curve_names(keys, agents)
    timelines, radars = list[dict[str, Any]](), list[dict[str, Any]]()
    for agent, rows in agents.items():
        columns = stressor_columns(episodes[agent])
        for stressor, part in group_rows(episodes[agent], columns).items():
            title = ", ".join(filter(None, [names[agent], stressor_name(stressor)]))
            timelines.append({"title": title} | _timeline(part))
        radars.append({"title": names[agent], "axes": list(CHANNELS), "rows": _radar_rows(rows)})
    return [
        Chart(
            "lines", "Score over episodes",
            {"panels": _most(timelines), "x": "episode", "y": "score", "share": True, "chooser": "Stressor"},
            [name for name in pictures if name.startswith("stress_timeline")],
        ),
        Chart(
            "radar", "Channels in the shock", {"panels": _most(radars), "chooser": "Agent"},
            [name for name in pictures if name.startswith("stress_radar")],
        ),
    ]  # fmt: skip


def stress_findings(tables: StressTables) -> list[tuple[str, str]]:
    """Returns a sentence for each agent: stressors by verdict, as the table has it."""
    keys = columns_of_agents(tables)
    agents = group_rows(tables.stress, keys)
    names = curve_names(keys, agents)
    findings = []
    for agent, rows in agents.items():
        columns = stressor_columns(rows)
        verdicts: dict[str, list[str]] = {}
        for row in rows:
            verdicts.setdefault(str(row["verdict"]), []).append(stressor_name(tuple(row[c] for c in columns)))
        parts = [f"{verdict}: {', '.join(members)}" for verdict, members in verdicts.items() if verdict != CALM]
        findings.append((names[agent] or text(rows[0].get("policy")), "; ".join(parts)))
    return findings


def _most(panels: list[dict[str, Any]]) -> list[dict[str, Any]]:
    more = len(panels) - _MOST_PANELS
    shown = panels[:_MOST_PANELS]
    if more > 0:
        shown[-1] = shown[-1] | {"title": f"{shown[-1]['title']} ({more} more are in the tables)"}
    return shown


def _timeline(rows: list[Row]) -> dict[str, Any]:
    """Returns the mean score over seeds with its range, the phases, and the threshold."""
    seeds = list(group_rows(rows, ["seed"]).values())
    count = min(map(len, seeds))
    scores = np.array([[row["score"] for row in part[:count]] for part in seeds], dtype=float)
    numbers = {"mean": scores.mean(axis=0), "low": scores.min(axis=0), "high": scores.max(axis=0)}
    first = [row["episode"] for row in seeds[0][:count]]
    line = {"name": "mean over seeds, and their range", "x": first} | {
        name: rounded(values.tolist(), _DIGITS) for name, values in numbers.items()
    }
    shade = []
    for phase, run in itertools.groupby(seeds[0][:count], key=lambda row: str(row["phase"])):
        places = [row["episode"] for row in run]
        shade.append({"from": places[0], "to": places[-1], "name": phase, "dark": phase.startswith("shock")})
    threshold = float(np.mean([row["threshold"] for row in rows]))
    rule = {"rule": {"value": threshold, "name": "threshold"}} if np.isfinite(threshold) else {}
    return {"lines": [line], "shade": shade} | rule


def _radar_rows(rows: list[Row]) -> list[dict[str, Any]]:
    columns = stressor_columns(rows)
    return [
        {
            "name": stressor_name(tuple(row[column] for column in columns)),
            "values": rounded([row[f"{name}_shock"] for name in CHANNELS], _DIGITS),
        }
        for row in rows
        if not is_silent(row)
    ]
