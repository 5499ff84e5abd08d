"""The critical level as a study: rounds of cells around the crossing of each curve, and what they show."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from brittlestar.cells.job import Job, resolve
from brittlestar.errors import UserError, require, require_choice
from brittlestar.reports.sections import Section
from brittlestar.results.load import Cell
from brittlestar.statistics.placement import Reach, Search
from brittlestar.statistics.trials import Threshold
from brittlestar.studies.base import Rounds, Study
from brittlestar.studies.critical.curves import critical_curves_of
from brittlestar.studies.critical.outcomes import CRITICAL_METRICS, CurveOutcomes, measure_of
from brittlestar.studies.critical.ranges import DOUBLINGS, knob_of
from brittlestar.studies.critical.report import critical_section
from brittlestar.studies.critical.search import CurveSearch, episodes_of, refuse_swept, search_rounds


@dataclass
class CriticalLevel(Study):
    """Finds the strength at which success, or the retained return, falls below a threshold.

    Attributes:
        metric: one of `CRITICAL_METRICS`; None is success where the environment has it, else the return.
        threshold: a success rate, or a share of the clean return.
        width: of the interval, relative to the critical level, or in its unit if `absolute`.
        absolute: see `width`.
        budget: most episodes of each curve.
        range: lowest and highest strength; None doubles the strength of the config up to 64 times, or to its bound.
        key: the number to vary; None is the strength of the perturbation.
    """

    metric: str | None = None
    threshold: float = 0.5
    width: float = 0.05
    absolute: bool = False
    budget: int = 3000
    range: list[float] | None = None
    key: str | None = None

    def __post_init__(self) -> None:
        if self.metric is not None:
            require_choice("metric", self.metric, CRITICAL_METRICS)
        require(0 < self.threshold < 1, "threshold", "between 0 and 1", self.threshold)
        require(self.width > 0, "width", "above 0", self.width)
        require(self.budget >= 1, "budget", "at least 1", self.budget)

    def rounds(self, cells: Iterable[Job]) -> Rounds:
        """Returns rounds that go on until each curve is known well enough."""
        return search_rounds(self.searches(list(cells)))

    def searches(self, cells: list[Job]) -> list[CurveSearch]:
        """Returns the search of each combination of overrides; refuses one that cannot be searched."""
        knobs = [knob_of(cell, self.key, self.range) for cell in cells]
        refuse_swept(cells, {"seed", "episodes", *(knob.key for knob in knobs)})
        for cell in cells:
            if cell.config.get("clean") or cell.config.get("check"):
                raise UserError("a critical search needs its perturbation: leave `clean` and `check` out")
            if cell.config["episode_seeds"] != "independent":
                raise UserError("a critical search needs independent episodes: leave `episode_seeds=independent`")
            measure_of(resolve(cell).env.measure, self.metric, str(cell.choices.get("env")))
        return [
            CurveSearch(
                cell, knob, self.settings(knob.reach), CurveOutcomes(self.metric), episodes_of(cell, self.budget)
            )
            for cell, knob in zip(cells, knobs, strict=True)
        ]

    def settings(self, reach: Reach) -> Search:
        """Returns what to find in a range."""
        return Search(Threshold(self.threshold), reach, self.width, self.absolute, self.budget)

    def analyse(self, cells: list[Cell], out: Path) -> list[Section]:
        """Writes `critical`, `critical_differences`, `critical.json` and a picture of the curves."""
        own = [cell for cell in cells if cell.role is None]
        if not any(cell.done for cell in own):
            return []
        # A range starts at a quarter of its end.
        farthest = 2.0**DOUBLINGS if self.range is None else 4.0
        curves = critical_curves_of(own, self.settings(Reach(1.0, farthest)), self.metric, self.key)
        return [critical_section(curves, out)]
