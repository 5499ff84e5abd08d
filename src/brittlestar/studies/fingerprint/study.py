"""The brittleness fingerprint as a study: the critical level of every perturbation that fits the environment."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from brittlestar.cells.identity import NO_PERTURBATION
from brittlestar.cells.job import Job
from brittlestar.errors import UserError, require_choice
from brittlestar.reports.sections import Section
from brittlestar.results.grouping import BACKEND
from brittlestar.results.load import Cell
from brittlestar.statistics.placement import Reach
from brittlestar.studies.base import Round, Rounds, with_overrides
from brittlestar.studies.critical.curves import critical_curves_of
from brittlestar.studies.critical.search import SEEDS, CurveSearch, refuse_swept, search_rounds
from brittlestar.studies.critical.study import CriticalLevel
from brittlestar.studies.fingerprint.axes import FIRST_SHARE, FingerprintAxis, axis_refusal, read_fingerprint_axes
from brittlestar.studies.fingerprint.report import fingerprint_section

CLEAN = "clean"
_CLEAN_EPISODES = 100
_FARTHEST = 4.0
"""An axis ends at so many times its large level: more is of no use to a person, and a simulator may be slow there."""


@dataclass
class Fingerprint(CriticalLevel):
    """Finds the critical level of every axis, for each combination of the other overrides.

    Attributes:
        axes: name to `perturbation`, `large` (a level that most people call large), `unit`, and `set`, other fields of
            the perturbation; null leaves an axis out.
        only: names of the axes to use; None for all.
    """

    axes: dict[str, dict[str, Any] | None] = field(default_factory=dict)
    only: list[str] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.key is not None or self.range is not None:
            raise UserError("a fingerprint varies the strengths of its axes: leave `study.key` and `study.range` out")
        for name in self.only or []:
            require_choice("study.only", name, self.axes)
        chosen = self.axes if self.only is None else {name: self.axes[name] for name in self.only}
        self._axes = read_fingerprint_axes(chosen)
        if not self._axes:
            raise UserError("a fingerprint needs at least one axis: `study.axes` and `study.only` leave none")

    def rounds(self, cells: Iterable[Job]) -> Rounds:
        """Returns rounds with cells of all axes that the environments do not refuse."""
        own = list(cells)
        refuse_swept(own, {"seed", "episodes"})
        if any(cell.config["perturbation"] != NO_PERTURBATION for cell in own):
            raise UserError("a fingerprint adds its perturbations by itself: leave `perturbation=none`")
        chosen, refused = list[tuple[FingerprintAxis, Job]](), dict[str, str]()
        for cell in own:
            for axis in self._axes:
                reason = axis_refusal(cell, axis)
                if reason:
                    refused[axis.name] = reason
                else:
                    chosen.append((axis, axis.cell(cell)))
        if not chosen:
            raise UserError(f"the environment refuses all axes: {next(iter(refused.values()))}")
        searches = self.searches([cell for _, cell in chosen])
        for search, (axis, _) in zip(searches, chosen, strict=True):
            _end_at(search, _FARTHEST * abs(axis.large))
        note = "".join(f"\nleft out: {name}: {reason}" for name, reason in refused.items())
        return _with_clean([_clean(cell) for cell in own], search_rounds(searches), note)

    def analyse(self, cells: list[Cell], out: Path) -> list[Section]:
        """Writes `fingerprint`, `critical`, their differences and JSON, and pictures."""
        own = [cell for cell in cells if cell.role is None]
        if not any(cell.done for cell in own):
            return []
        curves = critical_curves_of(own, self.settings(Reach(1.0, _FARTHEST / FIRST_SHARE)), self.metric, None)
        clean = [cell for cell in cells if cell.role == CLEAN and cell.done]
        return [fingerprint_section(curves, clean, self._axes, self._left_out(own), out)]

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


def _end_at(search: CurveSearch, most: float) -> None:
    """Ends the levels of a search at a strength, if they do not end before it."""
    reach = replace(search.knob.reach, most=min(search.knob.reach.most, most))
    search.knob, search.search = replace(search.knob, reach=reach), replace(search.search, reach=reach)


def _clean(cell: Job) -> Job:
    """Returns a cell without perturbation, which starts with the clean episodes of the searches."""
    seed = cell.config["seed"] * SEEDS
    return with_overrides(cell, {"seed": seed, "episodes": _CLEAN_EPISODES, "role": CLEAN})


def _with_clean(clean: list[Job], rounds: Rounds, note: str) -> Rounds:
    """Adds clean cells and a note to the first round."""
    first = next(rounds)
    finished = (yield Round([*clean, *first.cells], first.note + note))[len(clean) :]
    while True:
        try:
            following = rounds.send(finished)
        except StopIteration:
            return
        finished = yield following
