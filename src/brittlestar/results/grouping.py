"""What varied between cells, and how they group into curves."""

import itertools
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from brittlestar.cells.identity import LABEL
from brittlestar.config import GROUPS
from brittlestar.results.load import Cell
from brittlestar.results.packed_cells import PackedCells, pack_cells
from brittlestar.sweeps.layers import GONE

_ABSENT = object()
BACKEND = "env.backend"
ALWAYS = ("env", "policy", "perturbation")
"""Columns that every table shows, so that it can be read without its sweep."""


@dataclass
class Grouping:
    """The columns in which curves differ, and the label of each cell."""

    columns: list[str]
    labels: list[tuple]

    def label(self, index: int) -> dict[str, Any]:
        """Returns the label of a cell as table columns."""
        return dict(zip(self.columns, self.labels[index], strict=True))


def group(cells: Sequence[Cell]) -> Grouping:
    """Groups cells by the config values that vary, except the seed and the strength.

    A key inside a config group varies only if it varies within one option of that group: the sigma of one noise and
    the alpha of another are not comparable. The name of a model covers the settings of its policy and environment.
    """
    values = CellValues(cells)
    first = [*ALWAYS, LABEL] if any(values.distinct(LABEL)) else [*ALWAYS]
    columns = first + sorted((key for key in values.keys - {*ALWAYS, LABEL} if _varies(key, values)), key=_rank)
    return Grouping(columns, values.labels(columns))


class CellValues:
    """The options and config values of many cells, of which most are the same for all; see `Cell.layers`."""

    def __init__(self, cells: Sequence[Cell]) -> None:
        self._kinds: list[tuple[dict[str, Any], dict[str, Any], str]] = []
        """The layers of cells and the key of their strength: the same for all cells of a curve and a strength."""
        self._codes: np.ndarray
        """The kind of each cell."""
        done = self._read(pack_cells(cells))
        shared = list({id(part): part for part, _, _ in self._kinds}.values())
        same = {key for part in shared for key in part if len({other.get(key, _ABSENT) for other in shared}) == 1}
        varied = (set().union(*shared) - same).union(*(own for _, own, _ in self._kinds))
        # A failed cell may have keys that no result has: its strength, when the perturbation could not be built.
        kinds = [self._kinds[code] for code in sorted(done)] or self._kinds
        parts = {(id(part), strength): part for part, _, strength in kinds}
        keys = set().union(*(part.keys() - {strength} for (_, strength), part in parts.items()))
        self.keys = varied & keys.union(*(own.keys() - {strength} for _, own, strength in kinds))
        """Keys that may have several values."""

    def _read(self, cells: PackedCells) -> set[int]:
        """Finds the kinds of cells, and returns which of them have a result."""
        known, layers, done, codes = dict[tuple[int, str], int](), list[Any](), set[int](), list[int]()
        firsts, numbers = cells.firsts()
        for cell in cells.choose(firsts):
            # They remain in the list, so that no two have the same id.
            layers.append(cell.layers)
            place = id(layers[-1]), sys.intern(f"perturbation.{cell.strength_name}")
            if place not in known:
                known[place] = len(self._kinds)
                self._kinds.append((*layers[-1], place[1]))
            codes.append(known[place])
            if cell.done:
                done.add(known[place])
        self._codes = np.array(codes, dtype=np.int64)[numbers]
        return done

    def distinct(self, key: str) -> list[Any]:
        """Returns the value of every kind of cell, in the order of their first cells; None for none or the strength."""
        values = (None if key == strength else own.get(key, shared.get(key)) for shared, own, strength in self._kinds)
        return [None if value is GONE else value for value in values]

    def of(self, key: str) -> list[Any]:
        """Returns the value of every cell, see `distinct`."""
        values = self.distinct(key)
        return [values[code] for code in self._codes.tolist()]

    def labels(self, columns: list[str]) -> list[tuple]:
        """Returns the values of every cell in some columns; cells of one kind have the same object."""
        labels = list(zip(*(self.distinct(key) for key in columns), strict=True))
        return [labels[code] for code in self._codes.tolist()]


def sort_key(values: Iterable[Any]) -> list[tuple]:
    """Orders mixed labels: numbers by size, text by alphabet, None last."""
    return [(2, 0, "") if v is None else (0, v, "") if type(v) in (int, float) else (1, 0, str(v)) for v in values]


def ranks_of(keys: Iterable[Any]) -> np.ndarray:
    """Returns the rank of each key; equal keys have the same one.

    Example:
        >>> ranks_of(["b", "a", "b"]).tolist()
        [1, 0, 1]
    """
    listed = [*keys]
    ranks, rank = np.zeros(len(listed), dtype=np.int64), -1
    for _, places in itertools.groupby(sorted(range(len(listed)), key=listed.__getitem__), listed.__getitem__):
        rank += 1
        ranks[[*places]] = rank
    return ranks


def _rank(key: str) -> tuple[int, str]:
    """Orders columns by config group, independently of the order of the cells."""
    top = key.partition(".")[0]
    return GROUPS.index(top) if top in GROUPS else len(GROUPS), key


def _varies(key: str, values: CellValues) -> bool:
    top, _, inner = key.partition(".")
    inside = bool(inner) and top in GROUPS
    owners = (top, LABEL) if top in ("env", "policy") else (top,)
    options = (
        list(zip(*(values.distinct(owner) for owner in owners), strict=True))
        if inside
        else [()] * len(values.distinct(key))
    )
    pairs = set(zip(options, values.distinct(key), strict=True))
    if key == BACKEND:
        # A cell that failed before it chose a backend differs in none.
        pairs = {(option, value) for option, value in pairs if value != "auto"}
    return len(pairs) > len({option for option, _ in pairs})
