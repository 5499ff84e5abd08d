"""The section of a report on critical levels: tables, JSON, picture, charts and sentences."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from brittlestar.cells.files import write_file
from brittlestar.reports.page.numbers import rounded
from brittlestar.reports.sections import Chart, Section
from brittlestar.results.format import bounded, markdown
from brittlestar.results.load import Row
from brittlestar.results.write import write_rows
from brittlestar.studies.critical.curves import LEVEL_STYLE, CriticalCurve
from brittlestar.studies.critical.differences import (
    CROSSING_DIFFERENCE_METHODS,
    crossing_difference_rows,
    crossing_differences_table,
)
from brittlestar.studies.critical.plots import draw_curves, panels_of

_RESULT, _TABLE, _DIFFERENCES, _PICTURE = "critical.json", "critical", "critical_differences", "critical_curves"
_METHODS = [
    "Critical level: median and 95 % interval of the posterior of the crossing, of falling curves with slope, floor, "
    "lapse and skewness, in which outcomes far from the crossing count less. Cells were placed around the crossing "
    "until the interval was narrow enough. An end in a gap between two levels where the curve falls steeply is moved "
    "to the outer level.",
    "Surely between: levels that enclose the crossing with 95 % at every look (betting, Ville's inequality). It "
    "assumes only that the curve falls.",
    "Episodes of a grid: what 11 even levels from 0 to twice the critical level need for the same standard error "
    "(Fisher information of the fitted curve); where the curve falls between two of them, more levels.",
]
_LIMITS = [
    "Both answers assume that success falls with the strength. A rise that the outcomes show is a warning; one between "
    "the levels that were tried is not seen.",
    "The interval of the critical level is that of fitted shapes; its coverage was checked by simulation. The fitted "
    "curve describes the outcomes near the crossing, and may miss those far from it.",
]


def critical_section(curves: list[CriticalCurve], out: Path) -> Section:
    """Writes tables, JSON and picture into a folder, and returns the section."""
    rows, gaps = [curve.row() for curve in curves], crossing_difference_rows(curves)
    write_rows(rows, out / _TABLE)
    body, tables, methods = [_table(curves, rows)], [_TABLE], list(_METHODS)
    if gaps:
        write_rows(gaps, out / _DIFFERENCES)
        body, tables, methods = (
            [*body, crossing_differences_table(gaps)],
            [*tables, _DIFFERENCES],
            methods + CROSSING_DIFFERENCE_METHODS,
        )
    lines = [f"{curve.name}: {curve.statement()}" for curve in curves]
    lines += [f"warning: {curve.name}: {curve.warning()}" for curve in curves if curve.warning()]
    write_file(
        out / _RESULT, json.dumps(_plain({"critical": _entries(curves, rows), "differences": gaps}), indent=1) + "\n"
    )
    pictures = draw_curves(curves, out / _PICTURE)
    findings = [(curve.name, "; ".join(filter(None, [curve.statement(), curve.warning()]))) for curve in curves]
    text = "\n\n".join([*body, "\n".join(f"- {line}" for line in lines)])
    charts = critical_charts(curves, pictures)
    return Section("Critical level", text, pictures, tables, methods, _LIMITS, charts, findings, answers=True)


def _table(curves: list[CriticalCurve], rows: list[Row]) -> str:
    shown = [
        {
            "curve": curve.name,
            "key": row["key"],
            "critical level": _critical(curve, row),
            "surely between": curve.surely(),
            "without perturbation": bounded(row["clean"], row["clean_low"], row["clean_high"], LEVEL_STYLE),
            "episodes": row["episodes"],
            "episodes of a grid": row["grid_episodes"],
        }
        for curve, row in zip(curves, rows, strict=True)
    ]
    return markdown(shown, shown[0])


def _critical(curve: CriticalCurve, row: Row) -> str:
    if curve.look.status == "incapable":
        return "none: incapable"
    if curve.look.status == "robust":
        return f"beyond {curve.sign * float(curve.outcomes.trials.levels.max()):{LEVEL_STYLE}}"
    if curve.estimate is None:
        return "not decided"
    return bounded(row["critical"], row["critical_low"], row["critical_high"], LEVEL_STYLE)


def _entries(curves: list[CriticalCurve], rows: list[Row]) -> list[dict[str, Any]]:
    entries = []
    for curve, row in zip(curves, rows, strict=True):
        levels = [
            {"level": curve.sign * level + 0.0, "mean": mean, "episodes": episodes}
            for level, mean, _, episodes in curve.outcomes.means()
        ]
        entries.append({"name": curve.name} | row | {"statement": curve.statement(), "levels": levels})
    return entries


def critical_charts(curves: list[CriticalCurve], pictures: list[str]) -> list[Chart]:
    """Returns the fitted curves and the outcomes at their levels, which replace the picture on the page."""
    fits, spent = [], []
    for title, members in panels_of(curves).items():
        x = members[0].key.removeprefix("perturbation.")
        fits.append({"title": title, "x": x, "lines": [_line(curve) for curve in members]})
        spent.append({"title": title, "x": x, "lines": [_spent(curve) for curve in members]})
    y = "share of the best return" if curves[0].search.threshold.relative else "success rate"
    base = {"x": "strength", "y": y, "share": True, "chooser": "Curve"}
    return [
        Chart("lines", "Fitted curves", base | {"panels": fits}, pictures),
        Chart("lines", "Where the episodes went", base | {"panels": spent, "y": "share of the episodes up to a level"}),
    ]


def _line(curve: CriticalCurve) -> dict[str, Any]:
    x, mean, band = curve_points(curve)
    numbers = {"x": curve.sign * x, "mean": mean, "low": band[0], "high": band[1]}
    return {"name": curve.name} | {name: rounded(values.tolist(), 4) for name, values in numbers.items()}


def curve_points(curve: CriticalCurve) -> tuple[np.ndarray, np.ndarray, tuple[np.ndarray, np.ndarray]]:
    """Returns levels around the crossing, and the fitted curve there with its band."""
    most = float(curve.outcomes.trials.levels.max())
    end = min(most, 3 * curve.look.fit.estimate) if curve.estimate else most
    x, mean, band = curve.line(np.linspace(0, end, 101))
    return x, mean, (np.asarray(band.low), np.asarray(band.high))


def _spent(curve: CriticalCurve) -> dict[str, Any]:
    """Returns the share of the episodes up to each level, with the outcomes there as a note."""
    means = curve.outcomes.means()
    counts = np.array([mean.episodes for mean in means])
    levels, shares = [curve.sign * mean.level for mean in means], np.cumsum(counts) / counts.sum()
    notes = [f"{mean.episodes} episodes here, mean outcome {mean.mean:{LEVEL_STYLE}}" for mean in means]
    return {"name": curve.name, "x": rounded(levels, 4), "mean": rounded(shares.tolist(), 4), "notes": notes}


def _plain(node: Any) -> Any:
    """Replaces numbers that JSON cannot hold: infinite ends are `inf` as text, missing numbers null."""
    if isinstance(node, dict):
        return {key: _plain(value) for key, value in node.items()}
    if isinstance(node, list):
        return [_plain(value) for value in node]
    if isinstance(node, float) and not math.isfinite(node):
        return None if math.isnan(node) else str(node)
    return node
