"""The curves of a page: every metric at every level, with interval, method and number of episodes."""

from __future__ import annotations

from typing import Any

from brittlestar.reports.notes import varied_columns
from brittlestar.reports.overview import OVERVIEW_METRICS
from brittlestar.reports.page.numbers import finite
from brittlestar.reports.verdicts import labelled_curves, shown_measures
from brittlestar.results.aggregate import Tables
from brittlestar.results.baseline_check import MISMATCH
from brittlestar.results.compare import HIGHER_IS_BETTER
from brittlestar.results.format import is_missing, text
from brittlestar.results.load import Row
from brittlestar.results.ranges import range_of
from brittlestar.results.rows import group_rows, measures

MOST_CURVES_ON_PAGE = 200
_MOST_NUMBERS = 90_000
"""Of all curves; metrics that come last are left out where there are more."""
_FIRST = ("dwell", "return", "normalised_return", *OVERVIEW_METRICS)
"""Metrics after the measures; others follow in the order of the table."""


def curves_data(tables: Tables) -> dict[str, Any]:
    """Returns the curves of the curve table and their metrics, as JSON values.

    A curve has `levels`, `n` (episodes), `seeds`, and by metric the lists mean, low, high and place of the method.
    """
    columns, names = tables.grouping.columns, labelled_curves(tables)
    groups = dict(list(group_rows(tables.curve, columns).items())[:MOST_CURVES_ON_PAGE])
    rows = [row for points in groups.values() for row in points]
    shown, metrics = shown_measures(rows), _metrics(rows)
    varied, methods = varied_columns(tables), dict[str, int]()
    curves = [
        {"name": names[key], "label": {c: text(points[0][c]) for c in columns}} | _points(points, metrics, methods)
        for key, points in groups.items()
    ]
    return {
        "metrics": [_describe(name, shown) for name in metrics],
        "curves": curves,
        "columns": [c for c in varied if len({curve["label"][c] for curve in curves}) > 1],
        "methods": list(methods),
        "left_out": len(names) - len(curves),
        "all_metrics": len(metrics) == len(_all_metrics(rows)),
    }


def _all_metrics(rows: list[Row]) -> list[str]:
    named = [column.removesuffix("_std") for column in rows[0] if column.endswith("_std")] if rows else []
    present = [name for name in named if any(not is_missing(row.get(name)) for row in rows)]
    first = [name for name in (*shown_measures(rows), *_FIRST) if name in present]
    return list(dict.fromkeys([*first, *present]))


def _metrics(rows: list[Row]) -> list[str]:
    names = _all_metrics(rows)
    return names[: max(len(shown_measures(rows)), 1, _MOST_NUMBERS // (3 * max(len(rows), 1)))]


def _describe(name: str, shown: list[str]) -> dict[str, Any]:
    span = range_of(name)
    return {
        "name": name,
        "title": name.replace("_", " "),
        "measure": name in shown,
        "share": (span.low, span.high) == (0.0, 1.0),
        "higher": name in HIGHER_IS_BETTER,
    }


def _points(points: list[Row], metrics: list[str], methods: dict[str, int]) -> dict[str, Any]:
    values: dict[str, list[list]] = {}
    for name in metrics:
        if all(is_missing(row.get(name)) for row in points):
            continue
        column = f"{name}_method" if name in measures(points[0]) else "metric_interval"
        places = [methods.setdefault(str(row.get(column, "")), len(methods)) for row in points]
        values[name] = [finite(row.get(name + end) for row in points) for end in ("", "_low", "_high")] + [places]
    return {
        "strength": points[0]["strength_name"] or "strength",
        "levels": [row["strength"] for row in points],
        "n": [row["n_episodes"] for row in points],
        "seeds": [row["n_seeds"] for row in points],
        "missed": points[0].get("baseline_check") == MISMATCH,
        "values": values,
    }
