"""Curves of a part: of its one policy, or over its trainings."""

from __future__ import annotations

import dataclasses
import functools
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from brittlestar.results.aggregate import Tables, aggregate
from brittlestar.results.load import RATES, Cell, Row, load_cells
from brittlestar.statistics import intervals

from .studies import Plan

ALPHA = "mitigation.alpha"


@dataclass
class Curves:
    """What one part does in one sweep: all trainings together, and each of them."""

    tables: Tables
    each: dict[str, Tables]
    """By policy."""

    def at(self) -> dict[float, Row]:
        """Returns the rows of the curve by sigma, or by alpha where that is what varies."""
        return by_level(self.tables)


def by_level(tables: Tables) -> dict[float, Row]:
    """Returns the rows of a curve by sigma, or by alpha where that is what varies."""
    return {level(row): row for row in tables.curve}


def level(row: Row) -> float:
    """Returns where a row of a curve stands: its sigma, or alpha where that is what varies."""
    return float(row[ALPHA] if ALPHA in row else row["strength"])


def curves(plan: Plan, task: str, noise: str, role: str) -> Curves | None:
    """Returns the curves of a part; None if none of its policies is there."""
    names = plan.names(task, role)
    return _curves(plan.sweep(task, noise), tuple(names), role) if names else None


@functools.cache
def _curves(folder: Path, names: tuple[str, ...], role: str) -> Curves:
    cells = {name: [cell for cell in _cells(folder) if cell.choice("policy") == name] for name in names}
    each = {name: aggregate(list(found)) for name, found in cells.items()}
    if len(names) == 1:
        return Curves(each[names[0]], each)
    together = [_one_training(found, i, role) for i, name in enumerate(names) for found in _levels(cells[name])]
    tables = aggregate(together)
    for row in tables.curve:
        _widen(row, row["n_episodes"] // len(names), len(names))
    for row in tables.summary:
        row["interval_method"] = row["interval_method"].replace("seeds", "trainings on the same episodes")
    return Curves(tables, each)


@functools.cache
def _cells(folder: Path) -> list[Cell]:
    return load_cells([folder])


def _levels(cells: list[Cell]) -> list[list[Cell]]:
    levels: dict[tuple, list[Cell]] = {}
    for cell in sorted(cells, key=lambda cell: cell.seed):
        levels.setdefault((cell.strength, cell.flat.get(ALPHA)), []).append(cell)
    return list(levels.values())


def _one_training(cells: list[Cell], number: int, role: str) -> Cell:
    """Makes the cells of all seeds one, with the number of the training for a seed."""
    manifest = {key: value for key, value in cells[0].manifest.items() if key != "record"}
    manifest["config"] = cells[0].config | {"policy": {}, "seed": number}
    manifest["choices"] = cells[0].manifest["choices"] | {"policy": role}
    return dataclasses.replace(cells[0], manifest=manifest, held=np.concatenate([cell.rows() for cell in cells]))


def _widen(row: Row, episodes: int, trainings: int) -> None:
    """Takes the episodes that all trainings share once, not once per training."""
    for name in RATES:
        successes = round(row[name] * episodes, 6)
        low, high = (intervals.wilson(whole, episodes) for whole in (math.floor(successes), math.ceil(successes)))
        row[f"{name}_low"] = min(row[f"{name}_low"], float(low.low))
        row[f"{name}_high"] = max(row[f"{name}_high"], float(high.high))
        row[f"{name}_method"] = f"t over {trainings} trainings, at least Wilson, n = {episodes}, 95 %"
    row["metric_interval"] = f"t over {trainings} trainings, 95 %"
