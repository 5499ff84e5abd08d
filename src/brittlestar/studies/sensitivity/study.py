"""Which factor drives failure: Sobol indices or Morris effects of a sweep over ranges, as a study."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from brittlestar.cells.job import Job
from brittlestar.engine.metrics import COLUMNS
from brittlestar.errors import PositiveInt, UserError, check_fields, counted, require, require_choice
from brittlestar.reports.sections import Section
from brittlestar.results.load import ROW_KEYS, Cell
from brittlestar.statistics.sensitivity import morris_design, sobol_design
from brittlestar.studies.base import Rounds, Study
from brittlestar.studies.cell_plans import (
    CellPlan,
    NextCell,
    combinations_of,
    in_rounds,
    labels,
    plans_together,
    repeat,
)
from brittlestar.studies.factors import Factor, check_ends, read_factors
from brittlestar.studies.sensitivity.design import FAILURE, Design, Finding, Question, analyse_design
from brittlestar.studies.sensitivity.report import sensitivity_section

_DESIGNS = {"sobol": sobol_design, "morris": morris_design}


@dataclass
class Sensitivity(Study):
    """Runs a design over the ranges of a sweep, for each combination of its other overrides, and ranks the factors.

    Attributes:
        ranges: key, lowest and highest value, from `key=interval(low,high)`.
        method: `sobol` or `morris`.
        samples: points of the first matrix of a Saltelli design, or Morris trajectories.
        metric: `failure`, or a column of the episodes.
        threshold: share of the clean return below which an episode fails, where there is no success.
    """

    ranges: list[list[Any]] = field(default_factory=list)
    method: Literal["sobol", "morris"] = "sobol"
    samples: PositiveInt = 64
    metric: str = "failure"
    threshold: float = 0.5

    def __post_init__(self) -> None:
        check_fields(self)
        require(0 < self.threshold < 1, "threshold", "above 0 and below 1", self.threshold)
        if self.ranges:
            self._points(len(self.ranges), 0)

    @property
    def _question(self) -> Question:
        return Question(self.method, self.samples, self.metric, self.threshold)

    def rounds(self, cells: Iterable[Job]) -> Rounds:
        """Returns one round: the design for each combination of the overrides."""
        if not self.ranges:
            raise UserError(
                "a sensitivity study varies keys within ranges: add `KEY=interval(LOW,HIGH)` for each of them"
            )
        require_choice("study.metric", self.metric, [FAILURE, *(name for name in COLUMNS if name not in ROW_KEYS)])
        jobs = list(cells)
        for job in jobs:
            check_ends(job.config, read_factors(job.config, self.ranges))
        return in_rounds(plans_together([self._plan(job) for job in jobs]))

    def _points(self, count: int, seed: int) -> np.ndarray:
        return _DESIGNS[self.method](count, self.samples, seed)

    def _plan(self, job: Job) -> CellPlan[Finding]:
        return self._course(job, read_factors(job.config, self.ranges))

    def _course(self, job: Job, factors: list[Factor]) -> CellPlan[Finding]:
        # The seed of the cells chooses the episodes, and the points too.
        points = self._points(len(factors), int(job.config["seed"]))
        values = [{f.key: f.cell_of(u) for f, u in zip(factors, point, strict=True)} for point in points]
        note = f"{counted(len(points), 'point')} of {counted(len(factors), 'factor')}"
        trials = [NextCell(job, {"role": None}, note), NextCell(job, {"role": "clean", "clean": True})]
        _, clean, *cells = yield [*trials, *(NextCell(job, own | {"role": "design"}) for own in values)]
        design = Design(factors, points, values, self.method)
        return analyse_design(design, cells, clean, self._question)

    def analyse(self, cells: list[Cell], out: Path) -> list[Section]:
        """Writes tables, `sensitivity.json` and a bar chart."""
        findings, reasons = dict[str, Finding](), list[str]()
        jobs = combinations_of((cell for cell in cells if cell.role is None), None, [])
        for name, job in zip(labels(jobs), jobs, strict=True):
            try:
                findings[name] = repeat(self._plan(job), cells)
            except UserError as error:
                reasons.append(f"{name}: {error}")
        if not findings:
            raise UserError("; ".join(reasons) or "the sweep has no cell of a sensitivity study")
        return [sensitivity_section(findings, reasons, self._question, out)]
