"""One role in one sweep: the curves of its policies, and the published figures for them."""

import dataclasses
import functools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from brittlestar.results.aggregate import Tables, aggregate
from brittlestar.results.load import RATES, Cell, Row, load_cells
from brittlestar.statistics.intervals import wilson
from brittlestar.studies.results_page.plan import NOISES, ROBUST, SAC, ResultsPlan
from brittlestar.studies.results_page.published import LOW_PASS, PAIRS, PUBLISHED_EPISODES, TASKS, Published

_ALPHA = "mitigation.alpha"


@dataclass(frozen=True)
class Part:
    """What one role does in one sweep: tables of all its trainings together, and of each by policy."""

    task: str
    noise: str
    role: str
    tables: Tables
    trainings: dict[str, Tables]
    published: Published

    @property
    def level_name(self) -> str:
        """What the levels of the sweep are."""
        return "alpha" if self.noise == "low_pass" else "sigma"

    def rows(self) -> dict[float, Row]:
        """Returns the rows of the curve by level."""
        return by_level(self.tables)

    def published_at(self, x: float) -> Row:
        """Returns the published row at a level; empty where nothing was published."""
        if self.role == ROBUST:
            pair = self.published.row(self.task, PAIRS, x)
            return {"success_rate": pair["robust_success_rate"]} if pair else {}
        name = LOW_PASS if (self.role, self.noise) == (SAC, "low_pass") else f"{self.role}_{self.noise}"
        return self.published.row(self.task, name, x)

    def gaps(self, name: str | None = None) -> list[Row]:
        """Returns the difference of any-step success to the published one at every level where there is one.

        `apart` is whether our interval and Wilson's over the published episodes do not overlap, `below` whether ours is
        below as well. A name selects one training.
        """
        rows = []
        for x, row in by_level(self.trainings[name] if name else self.tables).items():
            rate = self.published_at(x).get("success_rate")
            if rate is not None:
                low, high = wilson(round(rate * PUBLISHED_EPISODES), PUBLISHED_EPISODES)
                gap = {"x": x, "ours": row["success_any"], "published": rate, "difference": row["success_any"] - rate}
                below = bool(row["success_any_high"] < low)
                rows.append(gap | {"apart": below or bool(row["success_any_low"] > high), "below": below})
        return rows


def find_part(plan: ResultsPlan, task: str, noise: str, role: str) -> Part | None:
    """Returns a part; None if none of its policies is trained."""
    names = tuple(plan.names(task, role))
    return Part(task, noise, role, *_read(plan.sweep(task, noise), names, role), plan.published) if names else None


def all_parts(plan: ResultsPlan) -> Iterator[Part]:
    """Yields every part that was measured."""
    for task in TASKS:
        for noise, roles in NOISES.items():
            yield from filter(None, (find_part(plan, task, noise, role) for role in roles))


def by_level(tables: Tables) -> dict[float, Row]:
    """Returns the rows of a curve by sigma, or by alpha where that varies."""
    return {float(row[_ALPHA] if _ALPHA in row else row["strength"]): row for row in tables.curve}


@functools.cache
def _read(folder: Path, names: tuple[str, ...], role: str) -> tuple[Tables, dict[str, Tables]]:
    cells = {name: [cell for cell in _cells(folder) if cell.choice("policy") == name] for name in names}
    trainings = {name: aggregate(list(members)) for name, members in cells.items()}
    if len(names) == 1:
        return trainings[names[0]], trainings
    tables = aggregate([_join(level, i, role) for i, name in enumerate(names) for level in _levels(cells[name])])
    for row in tables.curve:
        _widen(row, row["n_episodes"] // len(names), len(names))
    for row in tables.summary:
        row["interval_method"] = row["interval_method"].replace("seeds", "trainings on the same episodes")
    return tables, trainings


@functools.cache
def _cells(folder: Path) -> list[Cell]:
    return load_cells([folder])


def _levels(cells: list[Cell]) -> list[list[Cell]]:
    levels: dict[tuple, list[Cell]] = {}
    for cell in sorted(cells, key=lambda cell: cell.seed):
        levels.setdefault((cell.strength, cell.flat.get(_ALPHA)), []).append(cell)
    return list(levels.values())


def _join(cells: list[Cell], number: int, role: str) -> Cell:
    """Joins the cells of all seeds of a training; the number of the training takes the place of the seed."""
    manifest = {key: value for key, value in cells[0].manifest.items() if key != "record"}
    manifest["config"] = cells[0].config | {"policy": {}, "seed": number}
    manifest["choices"] = cells[0].manifest["choices"] | {"policy": role}
    return dataclasses.replace(cells[0], manifest=manifest, held=np.concatenate([cell.rows() for cell in cells]))


def _widen(row: Row, episodes: int, trainings: int) -> None:
    """Counts the episodes that all trainings share once, not once per training."""
    for name in RATES:
        successes = round(row[name] * episodes, 6)
        low, high = (wilson(whole, episodes) for whole in (math.floor(successes), math.ceil(successes)))
        row[f"{name}_low"] = min(row[f"{name}_low"], float(low.low))
        row[f"{name}_high"] = max(row[f"{name}_high"], float(high.high))
        row[f"{name}_method"] = f"t over {trainings} trainings, at least Wilson, n = {episodes}, 95 %"
    row["metric_interval"] = row["metric_interval"].replace("seeds", "trainings")
