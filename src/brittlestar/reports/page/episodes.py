"""The episodes of a page: a sample of each level, with the worst, the median and the flipped ones in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from brittlestar.reports.page.numbers import rounded
from brittlestar.results.load import RATES, ROW_KEYS, Cell
from brittlestar.results.packed_cells import PackedCells, pack_cells

WORST, MEDIAN, FLIPPED = 1, 2, 4
"""Marks of an episode; an episode may have several."""
_MOST_VALUES = 150_000
_FEWEST_PER_LEVEL = 20
"""Where all columns would leave fewer episodes per level than this, only the main columns are kept."""
_MOST_FLIPPED = 3
"""Flipped episodes of a level that are always in the sample."""
_MAIN = ("length", "return", *RATES, "dwell", "final_distance", "smoothness", "action_divergence")


@dataclass
class LevelEpisodes:
    """All episodes of one level of a curve: their rows, the cell that each belongs to, and their marks."""

    strength: float
    cells: PackedCells
    rows: np.ndarray
    owner: np.ndarray
    marks: np.ndarray

    def sample(self, most: int) -> np.ndarray:
        """Returns the places of at most so many episodes: marked ones, and others at equal distances."""
        count = len(self.rows)
        if count <= most:
            return np.arange(count)
        first = [*np.flatnonzero(self.marks & (WORST | MEDIAN)), *np.flatnonzero(self.marks & FLIPPED)[:_MOST_FLIPPED]]
        spread = np.linspace(0, count - 1, most).round().astype(int)
        return np.sort(list(dict.fromkeys([*first, *spread]))[:most])


def episodes_data(every: Sequence[Iterable[Cell]], folders: dict[str, int]) -> dict[str, Any]:
    """Returns a sample of the episodes of every curve as JSON values; `folders` numbers the folders of sweeps.

    Rows have six digits. The sample does not depend on chance.
    """
    curves = [pack_cells(cells) for cells in every]
    levels = sum(len({cell.strength for cell in cells.kinds()}) for cells in curves)
    columns = [str(c) for c in curves[0][0].manifest["columns"] if c not in ROW_KEYS] if curves else []
    most = _MOST_VALUES // (max(levels, 1) * max(len(columns), 1))
    if most < _FEWEST_PER_LEVEL:
        columns = [c for c in columns if c in _MAIN]
        most = max(1, _MOST_VALUES // (max(levels, 1) * len(columns)))
    return {"columns": columns, "curves": [_curve(cells, columns, most, folders) for cells in curves]}


def _curve(cells: PackedCells, columns: list[str], most: int, folders: dict[str, int]) -> dict[str, Any]:
    """Returns the sampled episodes of a curve by column; a column with one value only is that value."""
    parts, sizes = [], []
    names = list(cells[0].manifest["columns"])
    for level, episodes in enumerate(_levels(cells)):
        places = episodes.sample(most)
        rows, owner = episodes.rows[places], episodes.owner[places]
        # Only few cells have a row in the sample.
        owners, owner = np.unique(owner, return_inverse=True)
        facts = [_owner(cell, folders) for cell in episodes.cells.choose(owners)]
        owned = np.array(facts, dtype=np.float64).T[:, owner]
        values = [rows[:, names.index(name)] for name in ("episode", "reset_seed")]
        metrics = [rows[:, names.index(name)] for name in columns]
        parts.append([np.full(len(places), level), *owned, *values, episodes.marks[places], *metrics])
        sizes.append(len(episodes.rows))
    joined = [np.concatenate(column) for column in zip(*parts, strict=True)]
    heads = ("level", "cell", "folder", "seed", "episode", "reset_seed", "mark")
    fixed = {name: values.astype(np.int64).tolist() for name, values in zip(heads, joined, strict=False)}
    shown = {name: _short(column) for name, column in zip(columns, joined[len(heads) :], strict=True)}
    return fixed | {"totals": sizes, "values": shown, "measure": str(cells[0].manifest["measure"])}


def _owner(cell: Cell, folders: dict[str, int]) -> tuple[int, int, int]:
    return int(cell.manifest.get("number", 0)), folders.get(folder_of(cell), 0), int(cell.seed)


def _short(values: np.ndarray) -> Any:
    if np.isnan(values).all():
        return None
    return rounded([values[0]])[0] if (values == values[0]).all() else rounded(values.tolist())


def by_strength(cells: PackedCells) -> list[tuple[float, PackedCells]]:
    """Returns the cells of each level, in the order of the curve."""
    return sorted(cells.groups(lambda cell: cell.strength).items(), key=lambda level: abs(level[0]))


def _levels(cells: PackedCells) -> Iterator[LevelEpisodes]:
    """Yields the episodes of each level, in the order of the curve."""
    measure, names = str(cells[0].manifest["measure"]), list(cells[0].manifest["columns"])
    place = names.index(measure) if measure in RATES else None
    clean: dict[int, np.ndarray] = {}
    for strength, members in by_strength(cells):
        rows = [cell.rows() for cell in members]
        if strength == 0 and place is not None:
            clean = {cell.seed: part[:, place].copy() for cell, part in zip(members, rows, strict=True)}
        owner = np.repeat(np.arange(len(members)), [len(part) for part in rows])
        marks = np.zeros(len(owner), dtype=np.int64)
        if strength != 0 and place is not None:
            pairs = [_flips(part[:, place], clean.get(c.seed)) for c, part in zip(members, rows, strict=True)]
            marks[np.concatenate(pairs)] = FLIPPED
        yield _marked(LevelEpisodes(strength, members, np.concatenate(rows), owner, marks))


def _marked(episodes: LevelEpisodes) -> LevelEpisodes:
    """Marks the worst episode (least success, then lowest return) and the one in the middle of that order."""
    if len(episodes.rows):
        names = list(episodes.cells[0].manifest["columns"])
        measure = str(episodes.cells[0].manifest["measure"])
        success = episodes.rows[:, names.index(measure if measure in RATES else "return")]
        order = np.lexsort([episodes.rows[:, names.index("return")], success])
        episodes.marks[order[0]] |= WORST
        episodes.marks[order[(len(order) - 1) // 2]] |= MEDIAN
    return episodes


def _flips(success: np.ndarray, clean: np.ndarray | None) -> np.ndarray:
    """Returns which episodes succeed without the perturbation, from the same start, and fail here."""
    flips = np.zeros(len(success), dtype=bool)
    if clean is not None:
        shared = min(len(clean), len(success))
        flips[:shared] = (clean[:shared] > 0) & (success[:shared] == 0)
    return flips


def folder_of(cell: Cell) -> str:
    """Returns the folder of the sweep that holds a cell; empty for one in memory."""
    return str(cell.source[0].path.parent) if cell.source else ""
