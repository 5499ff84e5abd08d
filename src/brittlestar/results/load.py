"""Reads recorded cells back."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from brittlestar.errors import UserError
from brittlestar.results.cell import RATES, ROW_KEYS, Cell, Row
from brittlestar.results.manifest_values import derived, hash_of_layers
from brittlestar.results.packed_cells import CellPacker, PackedCells, pack_cells
from brittlestar.sweeps.index import INDEX, find_indexes, read_header, read_index
from brittlestar.sweeps.missing import is_planned

__all__ = ["RATES", "ROW_KEYS", "Cell", "Row", "load_cells", "load_packed", "read_cells"]


def load_cells(folders: Iterable[str | Path], mixed: bool = False) -> list[Cell]:
    """Returns the cells of `load_packed`, all of them in memory."""
    return [*load_packed(folders, mixed)]


def load_packed(folders: Iterable[str | Path], mixed: bool = False) -> PackedCells:
    """Reads the cells of the sweeps in some folders; a cell with two records counts once.

    Sweeps of different studies are an error, unless they may be `mixed` in one table.
    """
    sweeps, studies = list[PackedCells](), dict[str, str]()
    for folder in map(Path, folders):
        sweeps.append(_read_packed(folder))
        studies.setdefault(_study(sweeps[-1]), str(folder))
    cells = sweeps[0] if len(sweeps) == 1 else pack_cells(cell for sweep in sweeps for cell in sweep)
    cells = _without_twins(cells)
    if len(studies) > 1 and not mixed:
        contents = "; ".join(f"{folder} is {study}" for study, folder in studies.items())
        raise UserError(f"these are different studies: {contents}. Aggregate sweeps of one study, or pass --mixed")
    return cells


def _without_twins(cells: PackedCells) -> PackedCells:
    """Returns cells of which no two have the same identity: the better one of two, at the place of the first one."""
    hashes = np.fromiter(map(_quick_hash, cells), dtype=np.int64, count=len(cells))
    _, groups, counts = np.unique(hashes, return_inverse=True, return_counts=True)
    if (counts == 1).all():
        return cells
    chosen = dict[int, Cell]()
    members = dict[int, list[int]]()
    is_twin = np.zeros(len(cells), dtype=bool)
    for place in np.flatnonzero(counts[groups] > 1).tolist():
        cell, others = cells[place], members.setdefault(int(groups[place]), [])
        twin = next((other for other in others if _identity(chosen[other]) == _identity(cell)), None)
        if twin is None:
            others.append(place)
            chosen[place] = cell
        else:
            is_twin[place], chosen[twin] = True, _better(chosen[twin], cell)
    return pack_cells(chosen.get(i, cell) for i, cell in enumerate(cells) if not is_twin[i])


def _identity(cell: Cell) -> tuple:
    return cell.flat, cell.role, cell.strength_name, cell.strength, cell.seed


def _quick_hash(cell: Cell) -> int:
    """Returns a hash that is the same for cells of the same identity, without a look at all values of each cell."""
    return hash((derived(cell.manifest, "hash", hash_of_layers), cell.strength, cell.seed))


def read_cells(folder: Path) -> list[Cell]:
    """Returns the cells of the sweep in a folder, in the order of their numbers; a missing one is left out."""
    return [*_read_packed(folder)]


def _read_packed(folder: Path) -> PackedCells:
    if not folder.is_dir():
        raise UserError(f"no folder at {folder}")
    packer, numbers = CellPacker(), array("q")
    for cell in _read(folder):
        packer.add(cell)
        numbers.append(cell.manifest.get("number", 0))
    if not numbers:
        older = "; cells of earlier versions are not read" if next(folder.glob("*/manifest.json"), None) else ""
        raise UserError(f"{folder} holds no finished cell of a sweep (no {INDEX} in it or below it{older})")
    return packer.packed().choose(np.argsort(numbers, kind="stable"))


def _read(folder: Path) -> Iterator[Cell]:
    plan = read_header(folder)[1]
    for place in find_indexes(folder):
        for entry in read_index(place):
            if is_planned(entry.manifest, plan):
                yield Cell(entry.manifest, source=(entry.arrays, entry.offset))


def _study(cells: PackedCells) -> str:
    """Names the environments and perturbations of a sweep."""
    kinds = [*cells.kinds()]
    kinds = [cell for cell in kinds if cell.role is None] or kinds
    envs = sorted({str(cell.setting("env").get("id")) for cell in kinds})
    noises = {cell.choice("perturbation") for cell in kinds} - {"none", "Perturbation"}
    return f"{', '.join(sorted(noises)) or 'no perturbation'} on {', '.join(envs)}"


def _better(other: Cell, cell: Cell) -> Cell:
    """Chooses between two records of the same config: a result replaces a failure."""
    if cell.done and not other.done:
        return cell
    # 1 and 1.0 have two hashes and one result.
    twins = not cell.done or cell.manifest["cell"] == other.manifest["cell"]
    if not twins and not np.array_equal(cell.rows(), other.rows(), equal_nan=True):
        places = " and ".join(str(one.source[0].path) for one in (other, cell) if one.source)
        raise UserError(
            f"{places} have cells of the same config and different results (other code, versions or policy file): "
            "aggregate these sweeps apart"
        )
    return other
