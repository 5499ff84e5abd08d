"""Which episodes of a sweep to look at: by number, the worst, or those that only the perturbation makes fail."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from brittlestar.errors import UserError
from brittlestar.results.load import RATES, Cell


class Chosen(NamedTuple):
    """An episode, and why it was chosen."""

    cell: Cell
    episode: int
    why: str

    @property
    def place(self) -> tuple[int, int]:
        """Number of the cell, and of the episode."""
        return int(self.cell.manifest["number"]), self.episode


def narrow(cells: Sequence[Cell], number: int | None = None, level: float | None = None) -> list[Cell]:
    """Returns the finished cells of a number, or of a strength."""
    done = [cell for cell in cells if cell.done]
    if not done:
        raise UserError("the sweep has no finished cell")
    if number is not None:
        found = [cell for cell in cells if cell.manifest["number"] == number]
        if not found:
            last = max(int(cell.manifest["number"]) for cell in cells)
            raise UserError(f"there is no cell {number}: the cells have the numbers 0 to {last}")
        if not found[0].done:
            raise UserError(f"cell {number} has failed: {found[0].manifest.get('error', '')}")
        return found
    if level is not None:
        found = [cell for cell in done if np.isclose(cell.strength, level, rtol=1e-9, atol=0)]
        if not found:
            levels = ", ".join(f"{strength:g}" for strength in sorted({cell.strength for cell in done}))
            raise UserError(f"there is no level {level:g}: the sweep has {levels}")
        return found
    return done


def worst(cells: Iterable[Cell], count: int) -> list[Chosen]:
    """Returns the episodes with the least success, and of those with the lowest return."""
    ranked = [
        (success, total, int(cell.manifest["number"]), episode, cell)
        for cell in cells
        for episode, (success, total) in enumerate(zip(_measure(cell), cell.column("return").tolist(), strict=True))
    ]
    return [Chosen(cell, episode, "worst") for *_, episode, cell in sorted(ranked, key=lambda row: row[:4])[:count]]


def flipped(cells: Sequence[Cell], among: Iterable[Cell], count: int) -> list[Chosen]:
    """Returns episodes that succeed without the perturbation and fail with it, those at the lowest strength first."""
    found = []
    for cell in sorted(among, key=lambda cell: (abs(cell.strength), int(cell.manifest["number"]))):
        clean = clean_twin(cells, cell)
        if cell.strength == 0 or clean is None or cell.manifest["measure"] not in RATES:
            continue
        for episode in np.flatnonzero((np.array(_measure(clean)) > 0) & (np.array(_measure(cell)) == 0)).tolist():
            found.append(Chosen(cell, episode, "succeeds clean, fails here"))
    return found[:count]


def clean_twin(cells: Iterable[Cell], cell: Cell) -> Cell | None:
    """Returns the cell with the same episodes and no perturbation, if the sweep has one."""
    key = _key(cell)
    return next((other for other in cells if other.done and other.strength == 0 and _key(other) == key), None)


def same_curve(cells: Iterable[Cell], cell: Cell) -> list[Cell]:
    """Returns the finished cells that differ from one in their strength alone."""
    key = _key(cell)
    return [other for other in cells if other.done and _key(other) == key]


def curves_of(cells: Iterable[Cell]) -> list[list[Cell]]:
    """Returns the finished cells of each curve: those that differ in strength and seed alone."""
    curves: dict[str, list[Cell]] = {}
    for cell in cells:
        if cell.done and cell.role is None:
            curves.setdefault(_key(cell)[1], []).append(cell)
    return list(curves.values())


def _key(cell: Cell) -> tuple[int, str]:
    return cell.seed, json.dumps(cell.flat, sort_keys=True, default=str)


def _measure(cell: Cell) -> list[float]:
    """Returns the success of every episode; without one, its return."""
    name = str(cell.manifest["measure"])
    return [float(value) for value in cell.column(name if name in RATES else "return")]
