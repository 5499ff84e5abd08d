"""The table of cells in columns: as a list of rows, it would take most of the memory of a large sweep."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, overload

import numpy as np

from brittlestar.results.curve import Curve
from brittlestar.results.load import Row

Columns = Mapping[str, list | np.ndarray]
"""The values of some rows by column, one for each row: a list, or an array of floats."""


_OF_CELLS = ("strength_name", "strength", "seed", "cell", "episodes")


class CurveCells(Columns):
    """The columns of one curve: label, place, episodes, means of all metrics, and others; made when asked for.

    `same` has one value for all cells. A metric with one value, or none, is held as one number.
    """

    def __init__(self, curve: Curve, same: Row, others: Columns) -> None:
        self._cells, self._others = curve.cells, others
        self._same = curve.label | same
        self._episodes = curve.episodes[curve.places].astype(np.int32)
        means = curve.mean[curve.places].T
        self._means: dict[str, np.ndarray] = {}
        for name, values in zip(curve.metrics, means, strict=True):
            # By their bytes: 0.0 and -0.0 are written differently, and nan is not equal to itself.
            is_one = (values.view(np.int64) == values[:1].view(np.int64)).all()
            self._means[name] = values[:1].copy() if is_one else values.copy()
        self._names = dict.fromkeys([*curve.label, *_OF_CELLS, *self._means, *same, *others])

    def __len__(self) -> int:
        return len(self._names)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __getitem__(self, name: str) -> list | np.ndarray:
        if name in self._others:
            return self._others[name]
        if name in self._means:
            values, count = self._means[name], len(self._cells)
            return values if len(values) == count else np.broadcast_to(values, count)
        if name == "episodes":
            return self._episodes.tolist()
        if name == "cell":
            return [cell.manifest["cell"] for cell in self._cells]
        if name in _OF_CELLS:
            return [getattr(cell, name) for cell in self._cells]
        return [self._same[name]] * len(self._cells)


class CellTable(Sequence[Row]):
    """One row per finished cell, in pieces: the columns of each curve.

    Example:
        >>> table = CellTable([{"seed": [0, 1], "return": np.array([5.0, 7.0])}, {"seed": [0]}])
        >>> len(table), table[1], table.columns()["return"]
        (3, {'seed': 1, 'return': 7.0}, [5.0, 7.0, None])
    """

    def __init__(self, pieces: Sequence[Columns] = ()) -> None:
        self.pieces = list(pieces)

    def __len__(self) -> int:
        return sum(map(row_count, self.pieces))

    def __iter__(self) -> Iterator[Row]:
        for piece in self.pieces:
            for values in zip(*map(_values, piece.values()), strict=True):
                yield dict(zip(piece, values, strict=True))

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> list[Row]: ...
    def __getitem__(self, index: int | slice) -> Row | list[Row]:
        return list(self)[index]

    def __eq__(self, other: object) -> bool:
        return list(self) == other

    def __repr__(self) -> str:
        return f"CellTable({list(self)})"

    def in_order(self, key: Callable[[Row], Any]) -> CellTable:
        """Returns the table with its pieces sorted by their first rows; all rows of a piece have one label."""
        return CellTable(sorted(self.pieces, key=lambda piece: key(_FirstRow(piece))))

    def names(self) -> list[str]:
        """Returns the names of the columns."""
        return list(dict.fromkeys(name for piece in self.pieces for name in piece))

    def columns(self) -> Columns:
        """Returns the columns of all rows; a value that a row lacks is None."""
        return {name: self.column(name) for name in self.names()}

    def column(self, name: str) -> list | np.ndarray:
        """Returns one column of all rows."""
        parts = [column_of(piece, name) for piece in self.pieces]
        arrays = [part for part in parts if isinstance(part, np.ndarray)]
        if len(arrays) == len(parts):
            return np.concatenate(arrays)
        return list(itertools.chain.from_iterable(map(_values, parts)))


def column_of(piece: Columns, name: str) -> list | np.ndarray:
    """Returns a column of a piece; None for every row where the piece has no such column."""
    return piece[name] if name in piece else [None] * row_count(piece)


def row_count(piece: Columns) -> int:
    """Returns how many rows a piece has."""
    return len(next(iter(piece.values()), ()))


class _FirstRow(dict[str, Any]):
    """The first row of a piece, whose values are made when asked for."""

    def __init__(self, piece: Columns) -> None:
        self._piece = piece

    def __missing__(self, name: str) -> Any:
        return self._piece[name][0]


def _values(column: list | np.ndarray) -> list:
    return column.tolist() if isinstance(column, np.ndarray) else column
