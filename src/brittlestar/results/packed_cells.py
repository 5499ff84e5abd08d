"""Many cells in little memory: what cells share is held once, and the rest of each as a few bytes."""

from __future__ import annotations

import itertools
import marshal
from array import array
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, TypeVar, overload

import numpy as np

from brittlestar.results.cell import Cell
from brittlestar.sweeps.layers import Layered

_BLOCK = 4096
_Value = TypeVar("_Value", bound=Hashable)


class PackedCells(Sequence[Cell]):
    """Cells in order, each of which is made when it is asked for; twice the same place gives two objects.

    Cells are of one kind if nothing but their own values differ: seed, number, hash, training, and rows. A kind is held
    as a whole cell. A cell without a file, or whose manifest is no `Layered`, is a kind of its own.

    Example:
        >>> cells = pack_cells([Cell({"config": {"seed": seed}}) for seed in (3, 4, 5)])
        >>> [cell.seed for cell in cells[1:]], cells.choose([2, 0])[1].seed
        ([4, 5], 3)
    """

    def __init__(self, kinds: list[Cell], codes: np.ndarray, parts: list[bytes]) -> None:
        self._kinds, self._codes, self._parts = kinds, codes, parts

    def __len__(self) -> int:
        return len(self._parts)

    @overload
    def __getitem__(self, index: int) -> Cell: ...
    @overload
    def __getitem__(self, index: slice) -> PackedCells: ...
    def __getitem__(self, index: int | slice) -> Cell | PackedCells:
        if isinstance(index, slice):
            return PackedCells(self._kinds, self._codes[index], self._parts[index])
        return _unpack(self._kinds[self._codes[index]], self._parts[index])

    def __iter__(self) -> Iterator[Cell]:
        kinds = self._kinds
        # Python's numbers are faster than those of NumPy, and all of them at once would take memory.
        codes = itertools.chain.from_iterable(part.tolist() for part in _blocks(self._codes))
        for code, part in zip(codes, self._parts, strict=True):
            yield _unpack(kinds[code], part)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and [*self] == [*other]

    def choose(self, places: Sequence[int] | np.ndarray) -> PackedCells:
        """Returns the cells at some places, in their order."""
        chosen = np.asarray(places, dtype=np.int64)
        parts = self._parts
        return PackedCells(self._kinds, self._codes[chosen], [parts[i] for i in chosen.tolist()])

    def firsts(self) -> tuple[np.ndarray, np.ndarray]:
        """Returns the place of the first cell of each kind, in order, and the number of the kind of every cell."""
        _, places, kinds = np.unique(self._codes, return_index=True, return_inverse=True)
        order = np.argsort(places)
        ranks = np.empty(len(order), dtype=np.int32)
        ranks[order] = np.arange(len(order))
        return places[order], ranks[kinds]

    def kinds(self) -> PackedCells:
        """Returns the first cell of each kind: enough to know what cells have in common with others of their kind."""
        return self.choose(self.firsts()[0])

    def groups(self, key: Callable[[Cell], _Value]) -> dict[_Value, PackedCells]:
        """Returns the cells by a value that cells of one kind share, in the order in which the values appear."""
        return {value: self.choose(places) for value, places in self.places(key).items()}

    def places(self, key: Callable[[Cell], _Value]) -> dict[_Value, np.ndarray]:
        """Returns the places of cells by a value that cells of one kind share, in the order of the values."""
        firsts, kinds = self.firsts()
        numbers = dict[_Value, int]()
        of_kind = [numbers.setdefault(key(cell), len(numbers)) for cell in self.choose(firsts)]
        members = np.array(of_kind, dtype=np.int64)[kinds]
        ends = np.cumsum(np.bincount(members, minlength=len(numbers)))[:-1]
        parts = np.split(np.argsort(members, kind="stable"), ends) if numbers else []
        return dict(zip(numbers, parts, strict=True))

    def where(self, condition: Callable[[Cell], bool]) -> PackedCells:
        """Returns the cells that fulfil a condition, which holds for all cells of a kind or for none."""
        firsts, kinds = self.firsts()
        is_chosen = np.fromiter(map(condition, self.choose(firsts)), dtype=bool, count=len(firsts))
        return self.choose(np.flatnonzero(is_chosen[kinds]))

    def split(self, parts_of: Callable[[Cell], Sequence[Cell]]) -> PackedCells:
        """Returns every cell as several ones, such as its phases; they differ in their kind."""
        firsts, numbers = self.firsts()
        split = [[*parts_of(cell)] for cell in self.choose(firsts)]
        starts = np.cumsum([0, *map(len, split)])
        counts = np.diff(starts)[numbers]
        owners = np.repeat(np.arange(len(self)), counts)
        within = np.arange(len(owners)) - np.repeat(np.cumsum(counts) - counts, counts)
        codes = (starts[:-1][numbers][owners] + within).astype(np.int32)
        kinds = list(itertools.chain.from_iterable(split))
        return PackedCells(kinds, codes, [self._parts[i] for i in owners.tolist()])


class CellPacker:
    """Packs cells one by one."""

    def __init__(self) -> None:
        self._kinds, self._known = list[Cell](), dict[tuple, int]()
        self._codes, self._parts = array("i"), list[bytes]()

    def add(self, cell: Cell) -> None:
        """Adds a cell."""
        code, part = self._pack(cell)
        self._codes.append(code)
        self._parts.append(part)

    def packed(self) -> PackedCells:
        """Returns the cells that were added."""
        return PackedCells(self._kinds, np.array(self._codes, dtype=np.int32), self._parts)

    def _pack(self, cell: Cell) -> tuple[int, bytes]:
        manifest = cell.manifest
        if not isinstance(manifest, Layered) or cell.source is None or cell.held is not None:
            self._kinds.append(cell)
            return len(self._kinds) - 1, b""
        arrays, offset = cell.source
        key = id(manifest.shared), id(manifest.read), id(arrays), cell.phase, cell.direction
        if key not in self._known:
            self._known[key] = len(self._kinds)
            self._kinds.append(cell)
        return self._known[key], marshal.dumps((offset, manifest.place, manifest.own))


def pack_cells(cells: Iterable[Cell]) -> PackedCells:
    """Returns cells as packed ones."""
    if isinstance(cells, PackedCells):
        return cells
    packer = CellPacker()
    for cell in cells:
        packer.add(cell)
    return packer.packed()


def _unpack(kind: Cell, part: bytes) -> Cell:
    if not part:
        return kind
    offset, place, own = marshal.loads(part)
    template: Any = kind.manifest
    source: Any = kind.source
    manifest = Layered(template.shared, own, template.read, place)
    return Cell(manifest, None, (source[0], offset), kind.phase, kind.direction)


def _blocks(values: np.ndarray) -> Iterator[np.ndarray]:
    return (values[start : start + _BLOCK] for start in range(0, len(values), _BLOCK))
