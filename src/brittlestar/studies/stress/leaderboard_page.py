"""The page of a leaderboard: ranks first, then return against stability, stressors, timelines and channels."""

from __future__ import annotations

from typing import Any

from brittlestar.reports.curve_names import curve_names
from brittlestar.reports.page.facts import sweep_commands, version_lines
from brittlestar.reports.page.numbers import finite
from brittlestar.reports.page.write import PageContent
from brittlestar.reports.sections import Chart, Section
from brittlestar.results.format import bounded_column, text
from brittlestar.results.load import Cell, Row
from brittlestar.results.rows import group_rows
from brittlestar.studies.stress.charts import stress_charts
from brittlestar.studies.stress.leaderboard import Leaderboard
from brittlestar.studies.stress.plots import columns_of_agents, stressor_columns, stressor_name
from brittlestar.studies.stress.tables import StressTables

_STYLE = ".3g"
_TRAITS = ("env_id", "algorithm", "on_policy")
"""Columns that say more about an agent, and do not name it."""


def leaderboard_page(overview: str, board: Leaderboard, tables: StressTables, cells: list[Cell]) -> PageContent:
    """Returns the content of the page; `overview` are the tables as Markdown, and `cells` those of the sweeps."""
    names = _names(board.rows)
    findings = [(name, _sentence(row, board.rows)) for row, name in zip(board.rows, names, strict=True)]
    charts = [_points(board.rows, names), _stressor_map(tables), *stress_charts(tables, [])]
    return PageContent(
        title="Leaderboard",
        facts=[("scoring", tables.scoring)],
        notes=board.notes,
        sections=[Section("Agents", overview, charts=charts, findings=findings)],
        commands=sweep_commands(cells),
        versions=version_lines(cells),
    )


def _names(rows: list[Row]) -> list[str]:
    columns = list(rows[0])
    labels = [c for c in columns[: columns.index("n_seeds")] if c not in _TRAITS]
    keys = [tuple(row[c] for c in labels) for row in rows]
    named = curve_names(labels, keys)
    return [named[key] or text(row["policy"]) for key, row in zip(keys, rows, strict=True)]


def _sentence(row: Row, rows: list[Row]) -> str:
    column = "rank_stability" if text(row.get("rank_stability")) else "rank_robust"
    peers = sum((other["env"], other["deterministic"]) == (row["env"], row["deterministic"]) for other in rows)
    score = "stability" if column == "rank_stability" else "robust_score"
    parts = [f"rank {bounded_column(row, column, _STYLE, '–')} of {peers} in {row['env']}"]
    parts.append(f"{score.replace('_', ' ')} {bounded_column(row, score, _STYLE, 'unknown')}")
    return "; ".join([*parts, f"collapse rate in the shock {bounded_column(row, 'rate_shock', _STYLE, 'unknown')}"])


def _points(rows: list[Row], names: list[str]) -> Chart:
    """Returns stability against return, a panel per environment; the return is normalised where all have that."""
    known = all(text(row.get("normalised_return")) for row in rows)
    x = "normalised_return" if known else "return_mean"
    panels: dict[str, dict[str, Any]] = {}
    for row, name in zip(rows, names, strict=True):
        low, high, across, along = finite(row.get(key) for key in ("stability_low", "stability_high", x, "stability"))
        facts = [["collapse rate", bounded_column(row, "rate_shock", _STYLE)]]
        point = {"name": name, "x": across, "y": along, "low": low, "high": high, "facts": facts}
        panels.setdefault(str(row["env"]), {"title": str(row["env"]), "points": []})["points"].append(point)
    data = {"panels": list(panels.values()), "x": x.replace("_", " "), "y": "stability", "chooser": "Environment"}
    return Chart("points", "Return and stability", data)


def _stressor_map(tables: StressTables) -> Chart:
    """Returns the collapse rate in the shock of every agent and stressor."""
    keys, columns = columns_of_agents(tables), stressor_columns(tables.stress)
    agents = group_rows(tables.stress, keys)
    names = curve_names(keys, agents)
    stressors = list(dict.fromkeys(stressor_name(tuple(row[c] for c in columns)) for row in tables.stress))
    values, notes = [], []
    for rows in agents.values():
        found = {stressor_name(tuple(row[c] for c in columns)): row for row in rows}
        values.append(finite(found[name]["rate_shock"] if name in found else None for name in stressors))
        notes.append([str(found[name]["verdict"]) if name in found else "" for name in stressors])
    title = [names[key] or text(rows[0].get("policy")) for key, rows in agents.items()]
    panel = {"title": "", "x": stressors, "y": title, "values": values, "notes": notes}
    return Chart("map", "Collapse rate in the shock", {"panels": [panel], "x": "stressor", "y": "agent", "share": True})
