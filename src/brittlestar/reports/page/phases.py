"""The phases of a stress schedule on a page: a timeline of every curve, and its success in each phase."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from brittlestar.reports.curve_names import curve_names
from brittlestar.reports.page.numbers import finite
from brittlestar.reports.sections import Chart, Section
from brittlestar.reports.verdicts import shown_measures
from brittlestar.results.aggregate import Tables
from brittlestar.results.format import is_missing, text
from brittlestar.results.load import Cell, Row
from brittlestar.results.ranges import range_of
from brittlestar.results.rows import group_rows

PHASE = "phase"
_MOST_PANELS = 200
_MOST_LEVELS = 40
_BODY = """A line is the mean of each phase over episodes and seeds, with its interval, as in the table of the curve.
Phases of the same name share one mean."""
Span = tuple[int, int, str, bool]
"""First and last episode of a phase, its name, and whether it has stress."""


def phase_section(tables: Tables, sections: Sequence[Section]) -> Section | None:
    """Returns the phases of the curves; None without phases, and where a study draws its own."""
    is_drawn = any(chart.kind == "radar" for section in sections for chart in section.charts)
    if is_drawn or PHASE not in tables.grouping.columns:
        return None
    columns = [column for column in tables.grouping.columns if column != PHASE]
    curves = dict(list(group_rows(tables.curve, columns).items())[:_MOST_PANELS])
    names = curve_names(columns, curves)
    titles = {key: names[key] or text(rows[0].get("policy")) for key, rows in curves.items()}
    spans = _spans(tables, columns)
    metrics = dict.fromkeys([*shown_measures(tables.curve), "return"])
    charts = [_timeline(metric, curves, titles, spans) for metric in metrics]
    shares = [metric for metric in metrics if _is_share(metric)]
    radar = [_radar(shares[-1], curves, titles)] if shares else []
    return Section("Phases", _BODY, charts=[chart for chart in (*charts, *radar) if chart.data["panels"]])


def _spans(tables: Tables, columns: list[str]) -> dict[tuple, list[Span]]:
    """Returns the phases of each curve in the order of its episodes."""
    members: dict[tuple, list[Cell]] = {}
    for place, cell in enumerate(tables.finished):
        label = tables.grouping.label(place)
        first = members.setdefault(tuple(label[column] for column in columns), [cell])[0]
        if cell is not first and (cell.seed, cell.strength) == (first.seed, first.strength):
            members[tuple(label[column] for column in columns)].append(cell)
    return {key: _runs(cells) for key, cells in members.items()}


def _runs(cells: list[Cell]) -> list[Span]:
    segments = (cells[0].setting("stress_schedule") or {}).get("segments") or []
    calm = {str(segment[0]): segment[2] == 0 for segment in segments if len(segment) > 2}
    phases = sorted((int(episode), str(cell.phase)) for cell in cells for episode in cell.column("episode"))
    runs = []
    for phase, run in itertools.groupby(phases, key=lambda pair: pair[1]):
        episodes = [episode for episode, _ in run]
        runs.append((episodes[0], episodes[-1], phase, not calm.get(phase, not phase.startswith("shock"))))
    return runs


def _title(metric: str) -> str:
    return metric.replace("_", " ").capitalize()


def _is_share(metric: str) -> bool:
    span = range_of(metric)
    return (span.low, span.high) == (0.0, 1.0)


def _timeline(
    metric: str, curves: dict[tuple, list[Row]], titles: dict[tuple, str], spans: dict[tuple, list[Span]]
) -> Chart:
    panels = [
        {"title": titles[key], "lines": _lines(metric, rows, spans[key]), "shade": _shade(spans[key])}
        for key, rows in curves.items()
        if any(not is_missing(row.get(metric)) for row in rows)
    ]
    data = {"panels": panels, "x": "episode", "y": metric.replace("_", " "), "chooser": "Curve"}
    return Chart("lines", f"{_title(metric)} over episodes", data | {"share": _is_share(metric)})


def _lines(metric: str, rows: list[Row], spans: list[Span]) -> list[dict[str, Any]]:
    """Returns a line for each strength: level within a phase, with its interval."""
    lines = []
    for (name, strength), points in list(group_rows(rows, ["strength_name", "strength"]).items())[:_MOST_LEVELS]:
        row_of = {row[PHASE]: row for row in points}
        known = [span for span in spans if span[2] in row_of]
        line = {"name": f"{name or 'strength'} = {text(strength)}", "x": [e for a, b, *_ in known for e in (a, b)]}
        for end, column in (("mean", metric), ("low", f"{metric}_low"), ("high", f"{metric}_high")):
            line[end] = finite(row_of[phase].get(column) for _, _, phase, _ in known for _ in range(2))
        lines.append(line)
    return lines


def _shade(spans: list[Span]) -> list[dict[str, Any]]:
    return [{"from": a, "to": b, "name": phase, "dark": is_dark} for a, b, phase, is_dark in spans]


def _radar(metric: str, curves: dict[tuple, list[Row]], titles: dict[tuple, str]) -> Chart:
    panels = []
    for key, rows in curves.items():
        axes = list(dict.fromkeys(text(row[PHASE]) for row in rows))
        levels = group_rows(rows, ["strength_name", "strength"])
        lines = [
            {
                "name": f"{name or 'strength'} = {text(strength)}",
                "values": finite({text(row[PHASE]): row.get(metric) for row in points}.get(axis) for axis in axes),
            }
            for (name, strength), points in list(levels.items())[:_MOST_LEVELS]
        ]
        if len(axes) > 2:
            panels.append({"title": titles[key], "axes": axes, "rows": lines})
    return Chart("radar", f"{_title(metric)} in each phase", {"panels": panels, "chooser": "Curve"})
