"""Who races whom: contestants differ in anything but what they are exposed to, and share their episodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from brittlestar.cells.job import Job, Outcome, resolve
from brittlestar.cells.run import manifest_of
from brittlestar.errors import UserError, nearest
from brittlestar.reports.curve_names import curve_names
from brittlestar.results.format import text
from brittlestar.results.grouping import group
from brittlestar.results.load import Cell

EXPOSURE = ("env", "perturbation", "stress_schedule")
"""Config groups that all contestants of a race share: what varies in them makes several races."""


@dataclass(frozen=True)
class Contestant:
    """One side of a race, and its finished cells in the order of their seeds."""

    name: str
    batches: list[Cell]
    failed: bool = False
    """Whether one of its cells has no result: it leaves the race."""

    def values(self, metric: str) -> np.ndarray:
        """Returns a metric of all episodes so far, in order."""
        columns = [cell.column(metric) for cell in self.batches]
        return np.concatenate(columns) if columns else np.empty(0)

    @property
    def episodes(self) -> int:
        """How many episodes it has run."""
        return len(self.values("reset_seed"))


@dataclass(frozen=True)
class RaceField:
    """The contestants of one race, and what all of them are exposed to."""

    name: str
    contestants: list[Contestant]

    def index(self, reference: str | None) -> int | None:
        """Returns the place of the reference among the contestants, by its name or its last word; None for none."""
        if reference is None:
            return None
        names = [one.name for one in self.contestants]
        words = [i for i, name in enumerate(names) if name.endswith(f" {reference}")]
        if reference not in names and len(words) != 1:
            raise UserError(f"`study.reference` = {reference} is no contestant; {nearest(reference, names)}")
        return names.index(reference) if reference in names else words[0]

    def check_pairing(self) -> None:
        """Refuses contestants with other start states than the first."""
        starts = [one.values("reset_seed") for one in self.contestants]
        for one, own in zip(self.contestants, starts, strict=True):
            shared = min(len(own), len(starts[0]))
            if not np.array_equal(own[:shared], starts[0][:shared]):
                first = self.contestants[0].name
                raise UserError(f"{one.name} and {first} do not share their start states: they cannot race")


def plan_cell(job: Job) -> Cell:
    """Returns a cell that has not run, as the record of a job would describe it."""
    return Cell(manifest_of(resolve(job), Outcome("planned"), None))


def places_of(cells: Sequence[Cell]) -> list[tuple[str, str]]:
    """Returns the names of the race and of the contestant of every cell."""
    grouping = group(list(cells))
    exposed = [i for i, column in enumerate(grouping.columns) if column.partition(".")[0] in EXPOSURE]
    own = [i for i in range(len(grouping.columns)) if i not in exposed]
    races = _names([grouping.columns[i] for i in exposed], [tuple(lab[i] for i in exposed) for lab in grouping.labels])
    names = _names([grouping.columns[i] for i in own], [tuple(lab[i] for i in own) for lab in grouping.labels])
    return [
        (_exposure(cell, race), name or cell.choice("policy"))
        for cell, race, name in zip(cells, races, names, strict=True)
    ]


def _names(columns: list[str], labels: list[tuple[Any, ...]]) -> list[str]:
    names = curve_names(columns, dict.fromkeys(labels))
    return [names[label] for label in labels]


def _exposure(cell: Cell, name: str) -> str:
    """Returns the name of a race: what distinguishes it, or the perturbation, and the strength."""
    strength = f"{cell.strength_name} {text(cell.strength)}" if cell.strength_name else ""
    return ", ".join(filter(None, [name or cell.choice("perturbation"), strength]))


def fields_of(cells: Sequence[Cell]) -> list[RaceField]:
    """Returns the races of some cells, in the order in which they appear."""
    members: dict[str, dict[str, list[Cell]]] = {}
    for cell, (race, name) in zip(cells, places_of(cells), strict=True):
        members.setdefault(race, {}).setdefault(name, []).append(cell)
    return [RaceField(race, [_contestant(*item) for item in names.items()]) for race, names in members.items()]


def _contestant(name: str, cells: list[Cell]) -> Contestant:
    ordered = sorted(cells, key=lambda cell: cell.seed)
    done = next((i for i, cell in enumerate(ordered) if not cell.done), len(ordered))
    return Contestant(name, ordered[:done], failed=done < len(ordered))
