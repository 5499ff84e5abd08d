"""Perception as a study: cells for every axis and level, areas under their curves, and pictures of what was seen."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from brittlestar.cells.job import Job
from brittlestar.errors import UserError, counted, require
from brittlestar.reports.sections import Section
from brittlestar.results.format import text
from brittlestar.results.load import Cell, Row
from brittlestar.results.write import write_rows
from brittlestar.studies.base import Study
from brittlestar.studies.perception.axes import read_axes, standard_dr_sweeps
from brittlestar.studies.perception.charts import level_chart, overall
from brittlestar.studies.perception.contact_sheet import draw_contact_sheet, first_seed
from brittlestar.studies.perception.differences import DIFFERENCE_METHODS, difference_rows, differences_table
from brittlestar.studies.perception.level_curves import draw_level_curves
from brittlestar.studies.perception.scores import METHODS, PerceptionScores, score
from brittlestar.studies.perception.swept_cells import SweptPolicy, agents_of, check_cell, successes_of, write_scores
from brittlestar.studies.perception.tables import axes_table, axis_rows, level_rows, training_marks

RESULT, TABLE, LEVELS = "perception.json", "perception_axes", "perception_levels"
DIFFERENCES = "perception_differences"
CURVES, SHEET = "perception_curves", "contact_sheet"
_FIT = (
    "Success at levels that were in training is fit, not generalisation. These levels are known of policies of the zoo "
    "and of trainings by `brittlestar train`."
)
_BETWEEN = "Levels between two of the sweep are interpolated by the area."
LIMITS = ["Pictures are those of the simulator: other cameras, lenses and materials are not measured.", _FIT]
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
            check_cell(cell)
            for axis in self._axes.values():
                for strength in axis.strengths:
                    words = [f"perturbation={axis.perturbation}", f"perturbation.{axis.strength}={strength}"]
                    extra.append(replace(cell, overrides=[*cell.overrides, *words]))
        return extra

    def analyse(self, cells: list[Cell], out: Path) -> list[Section]:
        """Writes `perception_axes`, `perception_levels`, `perception.json`, curves and a contact sheet."""
        swept = [cell for cell in cells if cell.role is None and cell.choice("perturbation") != "none"]
        if not any(cell.done for cell in swept):
            return []
        scored, missing = self._scores(agents_of(swept, self._axes))
        rows = [row for part in scored for row in axis_rows(*part)]
        write_rows(rows, out / TABLE)
        write_rows([row for _, _, levels in scored for row in levels], out / LEVELS)
        results = [(agent, scores.as_dict() | training_marks(levels)) for agent, scores, levels in scored]
        write_scores(out / RESULT, "perception", results)
        draw_level_curves({agent.name: levels for agent, _, levels in scored}, out / CURVES)
        pictures = [CURVES, *draw_contact_sheet(self._frames(scored[0][0]), out / SHEET)]
        gaps = difference_rows({agent.name: scores for agent, scores, _ in scored})
        body, tables, methods = [axes_table(rows)], [TABLE, LEVELS], METHODS
        if gaps:
            write_rows(gaps, out / DIFFERENCES)
            body, tables = [*body, differences_table(gaps)], [*tables, DIFFERENCES]
            methods = METHODS + DIFFERENCE_METHODS
        charts = [level_chart({agent.name: levels for agent, _, levels in scored}, [CURVES])]
        limits, findings = [_BETWEEN, *LIMITS], [(agent.name, overall(scores)) for agent, scores, _ in scored]
        return [Section("Perception", "\n\n".join(body + missing), pictures, tables, methods, limits, charts, findings)]

    def _scores(
        self, agents: list[SweptPolicy]
    ) -> tuple[list[tuple[SweptPolicy, PerceptionScores, list[Row]]], list[str]]:
        """Returns the scores of policies with the rows of their levels, and why other policies have none."""
        scored, missing = [], []
        for agent in agents:
            try:
                scores = score(self._successes(agent.cells))
                scored.append((agent, scores, level_rows(agent, scores, self._axes)))
            except UserError as error:
                missing.append(f"{agent.name}: {error}")
        if not scored:
            raise UserError("; ".join(missing))
        return scored, missing

    def _frames(self, agent: SweptPolicy) -> dict[str, list[tuple[str, Cell]]]:
        """Returns the cells of a contact sheet: a row for each axis, a column for each level."""
        rows = {}
        for name, axis in self._axes.items():
            cells = [cell for cell in first_seed(agent.cells) if cell.choice("perturbation") == axis.perturbation]
            places = {cell.strength: cell for cell in cells}
            titles = [f"{axis.strength} = 0", *(text(strength) for strength in axis.strengths[1:])]
            rows[name] = [(title, places[s]) for title, s in zip(titles, axis.strengths, strict=True)]
        return rows

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
                    curve.setdefault(levels[cell.strength], {})[cell.seed] = successes_of(cell)
            missing = sorted(set(axis.levels) - set(curve))
            if missing:
                raise UserError(f"the axis `{name}` has no cell at level {', '.join(map(text, missing))}: no area")
            result[name] = curve
        return result
