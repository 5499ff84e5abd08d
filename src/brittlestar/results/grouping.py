"""What varied between cells, and how they group into curves."""

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from brittlestar.cells.identity import LABEL
from brittlestar.config import GROUPS
from brittlestar.results.load import Cell
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


def group(cells: list[Cell]) -> Grouping:
    """Groups cells by the config values that vary, except the seed and the strength.

    A key inside a config group varies only if it varies within one option of that group: the sigma of one noise and
    the alpha of another are not comparable. The name of a model covers the settings of its policy and environment.
    """
    values = CellValues(cells)
    first = [*ALWAYS, LABEL] if any(values.of(LABEL)) else [*ALWAYS]
    columns = first + sorted((key for key in values.keys - {*ALWAYS, LABEL} if _varies(key, values)), key=_rank)
    return Grouping(columns, list(zip(*(values.of(key) for key in columns), strict=True)))


class CellValues:
    """The options and config values of many cells, of which most are the same for all; see `Cell.layers`."""

    def __init__(self, cells: list[Cell]) -> None:
        self._layers = [cell.layers for cell in cells]
        self._strengths = [sys.intern(f"perturbation.{cell.strength_name}") for cell in cells]
        shared = list({id(part): part for part, _ in self._layers}.values())
        same = {key for part in shared for key in part if len({other.get(key, _ABSENT) for other in shared}) == 1}
        varied = (set().union(*shared) - same).union(*(own for _, own in self._layers))
        # A failed cell may have keys that no result has: its strength, when the perturbation could not be built.
        done = [i for i, cell in enumerate(cells) if cell.done] or list(range(len(cells)))
        parts = {(id(self._layers[i][0]), self._strengths[i]): self._layers[i][0] for i in done}
        keys = set().union(*(part.keys() - {strength} for (_, strength), part in parts.items()))
        self.keys = varied & keys.union(*(self._layers[i][1].keys() - {self._strengths[i]} for i in done))
        """Keys that may have several values."""

    def of(self, key: str) -> list[Any]:
        """Returns the value of every cell; None for a cell that has none, or whose strength it is."""
        values = (
            None if key == strength else own.get(key, shared.get(key))
            for (shared, own), strength in zip(self._layers, self._strengths, strict=True)
        )
        return [None if value is GONE else value for value in values]


def sort_key(values: Iterable[Any]) -> list[tuple]:
    """Orders mixed labels: numbers by size, text by alphabet, None last."""
    return [(2, 0, "") if v is None else (0, v, "") if type(v) in (int, float) else (1, 0, str(v)) for v in values]


def _rank(key: str) -> tuple[int, str]:
    """Orders columns by config group, independently of the order of the cells."""
    top = key.partition(".")[0]
    return GROUPS.index(top) if top in GROUPS else len(GROUPS), key


def _varies(key: str, values: CellValues) -> bool:
    top, _, inner = key.partition(".")
    inside = bool(inner) and top in GROUPS
    owners = (top, LABEL) if top in ("env", "policy") else (top,)
    options = list(zip(*(values.of(owner) for owner in owners), strict=True)) if inside else [()] * len(values.of(key))
    pairs = set(zip(options, values.of(key), strict=True))
    if key == BACKEND:
        # A cell that failed before it chose a backend differs in none.
        pairs = {(option, value) for option, value in pairs if value != "auto"}
    return len(pairs) > len({option for option, _ in pairs})
