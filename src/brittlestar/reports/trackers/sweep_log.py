"""A finished sweep as trackers log it: numbers by name and step, pictures and files."""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from brittlestar.reports.curve_names import curve_names
from brittlestar.reports.films import FILMS
from brittlestar.results.aggregate import Tables
from brittlestar.results.format import is_missing
from brittlestar.results.gate_curves import metrics_of
from brittlestar.results.load import Cell, Row
from brittlestar.results.requirements import FUNCTIONS
from brittlestar.results.rows import group_rows, measures

Numbers = dict[str, float]
_FILES = (
    "report.html", "report.md", "protocol.md", "curve.csv", "summary.csv", "cells.csv", "failures.csv", "gate.json",
    "gate.md", "gate.xml", f"{FILMS}/*",
)  # fmt: skip
"""Files of a sweep that trackers take, where they exist."""


@dataclass
class SweepLog:
    """One sweep: `cells` has the numbers of each cell, `curves` those of each level, by the name of the curve."""

    name: str
    folder: Path
    config: dict[str, Any]
    """Config values by dotted key; a list where the sweep has several."""
    cells: list[Numbers]
    curves: dict[str, list[Numbers]]
    summary: Numbers

    @property
    def pictures(self) -> list[Path]:
        """The pictures next to the report."""
        return sorted(self.folder.glob("*.png"))

    @property
    def files(self) -> list[Path]:
        """Report, tables, gate and films, as far as they exist."""
        return [path for pattern in _FILES for path in sorted(self.folder.glob(pattern)) if path.is_file()]

    def steps(self) -> Iterator[tuple[int, Numbers]]:
        """Yields the numbers of cells, `cell/NAME`, and of curves, `curve/CURVE/NAME`: cells and levels are steps."""
        for step, numbers in enumerate(self.cells):
            yield step, {"cell/number": float(step)} | {f"cell/{key}": value for key, value in numbers.items()}
        for curve, points in self.curves.items():
            for step, numbers in enumerate(points):
                yield step, {f"curve/{curve}/{key}": value for key, value in numbers.items()}


def sweep_log(folder: Path, tables: Tables, overrides: Iterable[str]) -> SweepLog:
    """Returns what a tracker logs of the tables of a sweep."""
    columns = tables.grouping.columns
    rows = group_rows(tables.curve, columns)
    names = dict(zip(rows, unique_names(curve_names(columns, rows).values()), strict=True))
    metrics = metrics_of(tables.finished[0].manifest["columns"]) if tables.finished else []
    summary: Numbers = {"cells": float(len(tables.cells)), "failed_cells": float(len(tables.failures))}
    for row in tables.summary:
        curve = names[tuple(row[column] for column in columns)]
        numbers = _finite(row, ["baseline", *_with_bounds(FUNCTIONS)])
        summary |= {f"{curve}/{row['measure']}/{key}": value for key, value in numbers.items()}
    return SweepLog(
        folder.resolve().name,
        folder,
        {"overrides": " ".join(overrides)} | _config(tables.finished),
        [_finite(row, ["strength", "seed", "episodes", *metrics]) for row in tables.cells],
        {names[key]: [_point(row, metrics) for row in points] for key, points in rows.items()},
        summary,
    )


def unique_names(names: Iterable[str]) -> list[str]:
    """Returns names that every tracker takes; equal ones get a number.

    Example:
        >>> unique_names(["runs/a, p 0.1", "é=<b>", "é=?b?", ""])
        ['runs.a p 0.1', 'é_b_', 'é_b_ 2', 'curve']
    """
    counts: dict[str, int] = {}
    result = []
    for name in names:
        word = re.sub(r"[^\w. -]+", "_", name.replace("/", ".").replace(", ", " ")) or "curve"
        counts[word] = counts.get(word, 0) + 1
        result.append(word if counts[word] == 1 else f"{word} {counts[word]}")
    return result


def _point(row: Row, metrics: list[str]) -> Numbers:
    """Returns a level: its strength and all metrics, the measures with their intervals."""
    return _finite(row, ["strength", "n_episodes", *metrics, *_with_bounds(measures(row))])


def _with_bounds(names: Iterable[str]) -> list[str]:
    return [name + end for name in names for end in ("", "_low", "_high")]


def _finite(row: Row, names: Iterable[str]) -> Numbers:
    values: dict[str, Any] = {name: row.get(name) for name in names}
    return {name: float(v) for name, v in values.items() if not is_missing(v) and math.isfinite(v)}


def _config(cells: Sequence[Cell]) -> dict[str, Any]:
    """Returns the config of a sweep, its versions and its commit."""
    if not cells:
        return {}
    values: dict[str, dict[str, Any]] = {}
    for cell in cells:
        entries = cell.flat | {"seed": cell.seed}
        entries |= {f"perturbation.{cell.strength_name}": cell.strength} if cell.strength_name else {}
        for key, value in entries.items():
            values.setdefault(key, {})[repr(value)] = value
    config = {key: next(iter(v.values())) if len(v) == 1 else list(v.values()) for key, v in values.items()}
    facts = cells[0].manifest.get("provenance") or {}
    versions = {f"version.{name}": value for name, value in (facts.get("versions") or {}).items()}
    return config | versions | {"commit": facts.get("git")}
