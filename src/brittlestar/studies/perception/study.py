"""Perception as a study: cells for every axis and level, areas under their curves, and pictures of what was seen."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from brittlestar.cells.files import write_file
from brittlestar.cells.identity import NO_PERTURBATION
from brittlestar.cells.job import Job
from brittlestar.errors import UserError, counted, require
from brittlestar.reports.sections import Section
from brittlestar.results.format import bounded, markdown, text
from brittlestar.results.grouping import group
from brittlestar.results.load import RATES, Cell, Row
from brittlestar.results.write import write_rows
from brittlestar.studies.base import Study
from brittlestar.studies.perception.axes import read_axes, standard_dr_sweeps
from brittlestar.studies.perception.contact_sheet import draw_contact_sheet
from brittlestar.studies.perception.scores import METHODS, PerceptionScores, score

RESULT, TABLE, SHEET = "perception.json", "perception_axes", "contact_sheet"
_LIMITS = [
    "Levels between two of the sweep are interpolated by the area.",
    "Pictures are those of the simulator: other cameras, lenses and materials are not measured.",
]
_STANDARD = {name: {k: v for k, v in vars(axis).items() if k != "steps"} for name, axis in standard_dr_sweeps().items()}


@dataclass
class Perception(Study):
    """Adds cells for every axis and level to each cell of a sweep, and scores the area under success.

    Attributes:
        axes: name to `perturbation`, `strength` and `maximum`.
        steps: levels of every axis, 0 and 1 among them.
    """

    axes: dict[str, dict[str, Any]] = field(default_factory=lambda: dict(_STANDARD))
    steps: int = 6

    def __post_init__(self) -> None:
        require(len(self.axes) > 0, "study.axes", "at least one axis", self.axes)
        self._axes = read_axes(self.axes, self.steps)

    def extra_cells(self, cells: Iterable[Job]) -> list[Job]:
        """Returns a cell for every axis and level; level 0 is the cell of the sweep itself under another name."""
        extra = []
        for cell in cells:
            if cell.config["perturbation"] != NO_PERTURBATION:
                raise UserError("`study=perception` adds its perturbations by itself: leave `perturbation=none`")
            for axis in self._axes.values():
                for strength in axis.strengths:
                    words = [f"perturbation={axis.perturbation}", f"perturbation.{axis.strength}={strength}"]
                    extra.append(replace(cell, overrides=[*cell.overrides, *words]))
        return extra

    def analyse(self, cells: list[Cell], out: Path) -> list[Section]:
        """Writes `perception_axes`, `perception.json` and a contact sheet."""
        swept = [cell for cell in cells if cell.role is None and cell.choice("perturbation") != "none"]
        if not any(cell.done for cell in swept):
            return []
        scores = {label: score(self._successes(members)) for label, members in _agents(swept).items()}
        rows = [row for label, agent in scores.items() for row in _rows(label, agent)]
        write_rows(rows, out / TABLE)
        write_file(out / RESULT, json.dumps(_as_json(scores), indent=1) + "\n")
        pictures = [SHEET] if draw_contact_sheet(self._axes, swept, out / SHEET) else []
        return [Section("Perception", _table(rows), pictures, [TABLE], METHODS, _LIMITS)]

    def _successes(self, cells: list[Cell]) -> dict[str, dict[float, dict[int, np.ndarray]]]:
        """Returns the success of every episode: by axis, level and seed."""
        result: dict[str, dict[float, dict[int, np.ndarray]]] = {}
        for name, axis in self._axes.items():
            members = [cell for cell in cells if cell.choice("perturbation") == axis.perturbation]
            failed = [cell for cell in members if not cell.done]
            if failed or not members:
                raise UserError(f"the axis `{name}` lacks {counted(len(failed) or axis.steps, 'cell')}: no area")
            levels = dict(zip(axis.strengths, axis.levels, strict=True))
            curve: dict[float, dict[int, np.ndarray]] = {}
            for cell in members:
                if cell.strength in levels:
                    curve.setdefault(levels[cell.strength], {})[cell.seed] = cell.column(_measure(cell))
            missing = sorted(set(axis.levels) - set(curve))
            if missing:
                raise UserError(f"the axis `{name}` has no cell at level {', '.join(map(text, missing))}: no area")
            result[name] = curve
        return result


def _measure(cell: Cell) -> str:
    measure = str(cell.manifest["measure"])
    if measure not in RATES:
        raise UserError(f"an area under success needs `env.success`; {cell.choice('env')} is measured by {measure}")
    return measure


def _agents(cells: list[Cell]) -> dict[tuple[tuple[str, Any], ...], list[Cell]]:
    """Returns the cells of every policy, by what distinguishes them other than the axis."""
    grouping = group(cells)
    agents: dict[tuple[tuple[str, Any], ...], list[Cell]] = {}
    for cell, label in zip(cells, grouping.labels, strict=True):
        pairs = zip(grouping.columns, label, strict=True)
        key = tuple((name, value) for name, value in pairs if name.partition(".")[0] != "perturbation")
        agents.setdefault(key, []).append(cell)
    return agents


def _rows(label: tuple[tuple[str, Any], ...], agent: PerceptionScores) -> list[Row]:
    rows: list[Row] = []
    for name, area in agent.axes.items():
        numbers = {"ausc": area.value, "ausc_low": area.low, "ausc_high": area.high, "clean": area.clean}
        worst = {"worst": area.worst, "worst_level": area.worst_level, "episodes": area.episodes}
        rows.append(dict(label) | {"axis": name} | numbers | {"retained": area.retained} | worst)
    total = {"ausc": agent.overall, "ausc_low": agent.low, "ausc_high": agent.high}
    return [*rows, dict(label) | {"axis": "overall"} | total]


def _table(rows: list[Row]) -> str:
    labels = list(rows[0])[: list(rows[0]).index("axis")]
    varied = [name for name in labels if len({row[name] for row in rows}) > 1]
    shown = [
        row
        | {
            "AUSC": bounded(row["ausc"], row["ausc_low"], row["ausc_high"]),
            "clean": text(row.get("clean")),
            "retained": text(row.get("retained")),
            "worst": f"{text(row['worst'])} at level {text(row['worst_level'])}" if "worst" in row else "",
        }
        for row in rows
    ]
    return markdown(shown, [*varied, "axis", "AUSC", "clean", "retained", "worst"])


def _as_json(scores: dict[tuple[tuple[str, Any], ...], PerceptionScores]) -> dict[str, Any]:
    """Returns the documented shape for one policy; for several, a list of such."""
    results = [{"perception": agent.as_dict(), "policy": dict(label)} for label, agent in scores.items()]
    return results[0] if len(results) == 1 else {"policies": results}
