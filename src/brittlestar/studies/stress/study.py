"""Stress phases as a study: reference passes beside the cells of the sweep, and scores of their episodes."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from brittlestar.cells.job import Job
from brittlestar.errors import UserError, require, require_choice
from brittlestar.reports.sections import Section
from brittlestar.results.load import Cell
from brittlestar.studies.base import Study
from brittlestar.studies.stress.references import agent_key, reference_pass
from brittlestar.studies.stress.report import stress_sections
from brittlestar.studies.stress.rigorous import split
from brittlestar.studies.stress.scoring import SCORINGS


@dataclass
class StressPhases(Study):
    """Scores behaviour before, during and after a shock against a reference pass without stress.

    Attributes:
        reference: episodes of the reference pass of every agent and seed.
        scoring: one of `SCORINGS`.
        alpha: accepted false-alarm rate of the rigorous scoring.
    """

    reference: int = 300
    scoring: str = "rigorous"
    alpha: float = 0.05

    def __post_init__(self) -> None:
        require(self.reference >= 1, "reference", "at least 1", self.reference)
        require_choice("scoring", self.scoring, SCORINGS)
        require(0 < self.alpha < 1, "alpha", "between 0 and 1", self.alpha)
        if self.scoring == "rigorous":
            split(self.reference)

    def extra_cells(self, cells: Iterable[Job]) -> list[Job]:
        """Returns the reference pass of every agent and seed."""
        passes: dict[str, Job] = {}
        for cell in cells:
            if cell.config["record"] is None:
                raise UserError("`study=stress` scores recorded behaviour: add `record=behaviour`")
            passes.setdefault(agent_key(cell.config), reference_pass(cell, self.reference))
        return list(passes.values())

    def analyse(self, cells: list[Cell], out: Path) -> list[Section]:
        """Scores the recorded cells and writes `stress`, `stress_runs` and `stress_episodes`."""
        return stress_sections(cells, out, self.scoring, self.alpha)
