"""How little does it take: the smallest combination of perturbations that breaks a policy, as a study in rounds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from brittlestar.cells.job import Job
from brittlestar.errors import PositiveInt, UserError, check_fields, require
from brittlestar.reports.sections import Section
from brittlestar.results.load import Cell
from brittlestar.studies.base import Rounds, Study
from brittlestar.studies.cell_plans import CellPlan, combinations_of, in_rounds, labels, plans_together, repeat
from brittlestar.studies.search.plan import NOMINAL, SCALE, Course, SearchOutcome, Settings, search
from brittlestar.studies.search.report import search_section
from brittlestar.studies.search.space import search_space


@dataclass
class SmallestFailure(Study):
    """Searches the strengths of a composition for the smallest combination that breaks each policy of a sweep.

    Attributes:
        ranges: key, lowest and highest value, from `key=interval(low,high)`.
        units: the critical level of a part by its name, for parts whose level need not be measured.
        budget: points of the optimiser, and as many random draws.
        confirm: episodes of selection and of confirmation, on fresh seeds.
        threshold: share of the clean return below which an episode fails, where there is no success.
    """

    ranges: list[list[Any]] = field(default_factory=list)
    units: dict[str, float] | None = None
    budget: PositiveInt = 150
    confirm: PositiveInt = 400
    threshold: float = 0.5

    def __post_init__(self) -> None:
        check_fields(self)
        require(0 < self.threshold < 1, "threshold", "above 0 and below 1", self.threshold)

    @property
    def _settings(self) -> Settings:
        return Settings(self.budget, self.confirm, self.threshold)

    def rounds(self, cells: Iterable[Job]) -> Rounds:
        """Returns the rounds of all searches, side by side: one for each combination of the overrides."""
        return in_rounds(plans_together([self._plan(job) for job in cells]))

    def _plan(self, job: Job) -> CellPlan[SearchOutcome]:
        if job.config["episodes"] < 1:
            raise UserError(f"`episodes` must be at least 1, got {job.config['episodes']}")
        space = search_space(job.config, self.ranges, self.units or {})
        return search(Course(job, self._settings), space)

    def analyse(self, cells: list[Cell], out: Path) -> list[Section]:
        """Writes tables, `search.json`, the trade-off front, and every combination that was found as a yaml."""
        outcomes, reasons = dict[str, SearchOutcome](), list[str]()
        jobs = combinations_of(cells, NOMINAL, [SCALE])
        for name, job in zip(labels(jobs), jobs, strict=True):
            try:
                outcomes[name] = repeat(self._plan(job), cells)
            except UserError as error:
                reasons.append(f"{name}: {error}")
        if not outcomes:
            raise UserError("; ".join(reasons) or "the sweep has no cell of a search")
        return [search_section(outcomes, reasons, self._settings, out)]
