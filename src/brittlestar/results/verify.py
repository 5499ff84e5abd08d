"""Checks that recorded cells are what was written."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from brittlestar.cells.claims import holder_of
from brittlestar.cells.record import DamagedCellError
from brittlestar.cells.store import load_cell, stored_cells
from brittlestar.errors import UserError
from brittlestar.sweeps.index import INDEX, IndexReader, find_indexes, read_header
from brittlestar.sweeps.missing import MissingCells, missing_cells


class Check(NamedTuple):
    """One checked cell or index: what it is, and what is wrong with it (empty if nothing is)."""

    name: str
    problem: str = ""
    missing: MissingCells | None = None
    """The cells of a sweep without a record, in place of one checked cell."""
    is_cell: bool = True


def verify(folder: Path) -> Iterator[Check]:
    """Yields a check of every cell of a store, or of the sweeps in a folder and below it.

    Raises:
        UserError: if the folder has neither.
    """
    if not folder.is_dir():
        raise UserError(f"no folder at {folder}")
    indexes, empty = find_indexes(folder), True
    for place in indexes:
        yield from _verify_sweep(place)
    yield from _missing(folder)
    for cell, path in stored_cells(folder):
        empty = False
        yield Check(str(path), _problem_of_stored(folder, cell))
    if empty and not indexes:
        raise UserError(f"{folder} is no store and no folder of a sweep (it has no {INDEX})")


def _problem_of_stored(store: Path, cell: str) -> str:
    try:
        load_cell(str(store), cell)
    except DamagedCellError as error:
        return str(error)
    return ""


def _verify_sweep(folder: Path) -> Iterator[Check]:
    reader = IndexReader(folder)
    try:
        for entry in reader.read():
            number, problem = int(entry.manifest.get("number", 0)), ""
            files = entry.manifest.get("files", {})
            try:
                for name in files:
                    entry.arrays.read(entry.offset, files, name)
            except DamagedCellError as error:
                problem = str(error)
            yield Check(f"{folder} cell {number}", problem)
    except DamagedCellError as error:
        yield Check(f"{folder / INDEX}", str(error), is_cell=False)
        return
    if read_header(folder)[0] is None:
        yield Check(f"{folder / INDEX}", "it is empty, or its first line was cut", is_cell=False)
    elif not reader.is_ended and not reader.missing and holder_of(folder) is None:
        problem = "it lacks its last line, and no cell: run the command of the sweep again"
        yield Check(f"{folder / INDEX}", problem, is_cell=False)


def _missing(folder: Path) -> Iterator[Check]:
    with contextlib.suppress(DamagedCellError):
        # The check of the index that is damaged has the reason.
        for sweep in missing_cells(folder):
            state = "the sweep runs" if sweep.runs else "the sweep was ended; its command computes them"
            yield Check(str(sweep.folder / INDEX), f"{sweep}: {state}", sweep, is_cell=False)
