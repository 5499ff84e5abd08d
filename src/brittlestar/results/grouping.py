"""What varied between cells, and how they group into curves."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from brittlestar.cells.identity import LABEL
from brittlestar.config import GROUPS
from brittlestar.results.load import Cell

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
    flats = [cell.flat for cell in cells]
    # A failed cell may have keys that no result has: its strength, when the perturbation could not be built.
    keys = set().union(*([cell.flat for cell in cells if cell.done] or flats))
    first = [*ALWAYS, LABEL] if any(flat.get(LABEL) for flat in flats) else [*ALWAYS]
    columns = first + sorted((key for key in keys - {*ALWAYS, LABEL} if _varies(key, flats)), key=_rank)
    return Grouping(columns, [tuple(flat.get(key) for key in columns) for flat in flats])


def sort_key(values: Iterable[Any]) -> list[tuple]:
    """Orders mixed labels: numbers by size, text by alphabet, None last."""
    return [(2, 0, "") if v is None else (0, v, "") if type(v) in (int, float) else (1, 0, str(v)) for v in values]


def _rank(key: str) -> tuple[int, str]:
    """Orders columns by config group, independently of the order of the cells."""
    top = key.partition(".")[0]
    return GROUPS.index(top) if top in GROUPS else len(GROUPS), key


def _varies(key: str, flats: list[dict[str, Any]]) -> bool:
    top, _, inner = key.partition(".")
    inside = bool(inner) and top in GROUPS
    owners = (top, LABEL) if top in ("env", "policy") else (top,)
    pairs = {(tuple(flat.get(owner) for owner in owners if inside), flat.get(key)) for flat in flats}
    return len(pairs) > len({option for option, _ in pairs})
