"""The brittleness fingerprint as a study: the critical level of every perturbation that fits the environment."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from brittlestar.cells.identity import NO_PERTURBATION
from brittlestar.cells.job import Job
from brittlestar.errors import UserError
from brittlestar.reports.sections import Section
from brittlestar.results.grouping import BACKEND
from brittlestar.results.load import Cell
from brittlestar.statistics.placement import Reach
from brittlestar.studies.base import Rounds
from brittlestar.studies.critical.curves import critical_curves_of
from brittlestar.studies.critical.search import search_rounds
from brittlestar.studies.critical.study import CriticalLevel
from brittlestar.studies.fingerprint.axes import axis_refusal, read_fingerprint_axes
from brittlestar.studies.fingerprint.report import fingerprint_section


@dataclass
class Fingerprint(CriticalLevel):
    """Finds the critical level of every axis, for each combination of the other overrides.

    Attributes:
        axes: name to `perturbation`, `large` (a level that most people call large), `unit`, and `set`, other fields of
            the perturbation; null leaves an axis out.
    """

    axes: dict[str, dict[str, Any] | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.key is not None or self.range is not None:
            raise UserError("a fingerprint varies the strengths of its axes: leave `study.key` and `study.range` out")
        self._axes = read_fingerprint_axes(self.axes)
        if not self._axes:
            raise UserError("`study.axes` must have at least one axis")

    def rounds(self, cells: Iterable[Job]) -> Rounds:
        """Returns rounds with cells of all axes that the environments do not refuse."""
        chosen, refused = list[Job](), dict[str, str]()
        for cell in cells:
            if cell.config["perturbation"] != NO_PERTURBATION:
                raise UserError("a fingerprint adds its perturbations by itself: leave `perturbation=none`")
            for axis in self._axes:
                reason = axis_refusal(cell, axis)
                if reason:
                    refused[axis.name] = reason
                else:
                    chosen.append(axis.cell(cell))
        for name, reason in refused.items():
            sys.stderr.write(f"left out: {name}: {reason}\n")
        if not chosen:
            raise UserError(f"the environment refuses all axes: {next(iter(refused.values()))}")
        return search_rounds(self.searches(chosen))

    def analyse(self, cells: list[Cell], out: Path) -> list[Section]:
        """Writes `fingerprint`, `critical`, their differences and JSON, and pictures."""
        own = [cell for cell in cells if cell.role is None]
        if not any(cell.done for cell in own):
            return []
        curves = critical_curves_of(own, self.settings(Reach(1.0, 1.0)), self.metric, None)
        return [fingerprint_section(curves, self._axes, self._left_out(own), out)]

    def _left_out(self, cells: list[Cell]) -> dict[str, str]:
        """Returns the axes without cells, and why the environment refuses them."""
        used = {cell.choice("perturbation") for cell in cells}
        first = next(cell for cell in cells if cell.done)
        config, overrides = dict(first.config), list(first.manifest["overrides"])
        if not any(text.startswith(f"{BACKEND}=") for text in overrides):
            # A manifest has the backend that ran.
            config["env"] = config["env"] | {"backend": "auto"}
        job = Job(config, first.manifest["choices"], overrides)
        return {axis.name: axis_refusal(job, axis) for axis in self._axes if axis.perturbation not in used}
