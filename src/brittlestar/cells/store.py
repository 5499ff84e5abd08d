"""The store: one file per finished cell, by the hash of the cell. Other processes and hosts may use it too."""

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

from brittlestar.cells.files import check_writable, make_folder, write_file
from brittlestar.cells.record import DamagedCellError, Record, decode

SUFFIX = ".cell"
_UNFINISHED = "unfinished"
"""Folder of files that are being written."""
_ABANDONED_SECONDS = 86_400


def cell_file(store: str, cell: str) -> Path:
    """Returns the file of a cell."""
    return Path(store) / cell[:2] / f"{cell}{SUFFIX}"


def write_record(store: str, cell: str, record: bytes) -> None:
    """Writes an encoded cell: whole or not at all, and safe from a power cut."""
    path, unfinished = cell_file(store, cell), Path(store) / _UNFINISHED
    make_folder(path.parent)
    make_folder(unfinished)
    with contextlib.suppress(OSError):
        # An empty folder in the place of the file would remain there for ever; a rename replaces everything else.
        path.rmdir()
    write_file(path, record, durable=True, folder=unfinished)


def read_record(store: str, cell: str) -> bytes | None:
    """Returns an encoded cell as it was written; None if the store does not have it, or only a damaged one."""
    with contextlib.suppress(DamagedCellError):
        data = _read(cell_file(store, cell))
        if data is not None:
            _decode(data, cell)
            return data
    return None


def load_cell(store: str, cell: str) -> Record | None:
    """Returns a cell; None if the store does not have it. Raises `DamagedCellError` for a damaged one."""
    data = _read(cell_file(store, cell))
    return None if data is None else _decode(data, cell)


def _read(path: Path) -> bytes | None:
    try:
        # Without a buffer, which costs as much as the reading.
        with open(path, "rb", buffering=0) as file:
            return file.readall()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise DamagedCellError(f"it cannot be read: {error.strerror}") from None


def _decode(data: bytes, cell: str) -> Record:
    record = decode(data)
    if record.manifest.get("cell") != cell:
        raise DamagedCellError(f"it is the cell {record.manifest.get('cell')}")
    return record


def check_store(store: str) -> None:
    """Raises a `UserError` if the store cannot be written to, and removes files that were never finished."""
    unfinished = Path(store) / _UNFINISHED
    check_writable(unfinished)
    for path in unfinished.iterdir():
        with contextlib.suppress(OSError):
            # Whether its process is alive cannot be known: it may run on another host or in a container.
            if time.time() - path.stat().st_mtime > _ABANDONED_SECONDS:
                path.unlink()


def stored_cells(store: Path) -> Iterator[tuple[str, Path]]:
    """Yields the hash and the file of every cell in the store, in a fixed order."""
    for folder in sorted(store.glob("[0-9a-f][0-9a-f]")):
        for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
            if entry.name.endswith(SUFFIX):
                yield entry.name.removesuffix(SUFFIX), Path(entry.path)
