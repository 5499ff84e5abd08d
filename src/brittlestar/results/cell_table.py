"""The table of cells in columns: as a list of rows, it would take most of the memory of a large sweep."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, overload

import numpy as np

from brittlestar.results.load import Row

Columns = dict[str, list | np.ndarray]
"""The values of some rows by column, one for each row: a list, or an array of floats."""


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
        return sum(map(_length, self.pieces))

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
        first = [{name: values[0] for name, values in piece.items()} for piece in self.pieces]
        return CellTable([self.pieces[i] for i in sorted(range(len(first)), key=lambda i: key(first[i]))])

    def columns(self) -> Columns:
        """Returns the columns of all rows; a value that a row lacks is None."""
        names = dict.fromkeys(name for piece in self.pieces for name in piece)
        return {name: self._column(name) for name in names}

    def _column(self, name: str) -> list | np.ndarray:
        parts = [piece.get(name, [None] * _length(piece)) for piece in self.pieces]
        arrays = [part for part in parts if isinstance(part, np.ndarray)]
        if len(arrays) == len(parts):
            return np.concatenate(arrays)
        return list(itertools.chain.from_iterable(map(_values, parts)))


def _length(piece: Columns) -> int:
    return len(next(iter(piece.values())))


def _values(column: list | np.ndarray) -> list:
    return column.tolist() if isinstance(column, np.ndarray) else column
