"""The cells of a sweep in two files of its folder: a line of JSON per cell, and their arrays in one file.

Most cells of a sweep differ in a few values, so a line holds the differences from an earlier manifest, its base.
Every line has a digest of its own, and every array one in its line.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

import numpy as np

from brittlestar.cells.files import make_folder
from brittlestar.cells.job import Job, Outcome
from brittlestar.cells.record import DamagedCellError, Record, digest, read_arrays, size
from brittlestar.cells.run import manifest_of
from brittlestar.errors import UserError
from brittlestar.sweeps.layers import Base, Layered, difference, slim

INDEX, ARRAYS = "cells.jsonl", "cells.bin"
_SUM = ', "sum": "'
_FLUSH_SECONDS = 0.2
_LINE_BYTES = 4096
"""Most lines are shorter."""
_REMEDY = "run the command of the sweep again"


class IndexWriter:
    """Writes the cells of a sweep as they end; use it as a context manager. Lines are in the order of their ends.

    A sweep that comes in parts, as adaptive ones do, has a writer for each: `first` is the number of its first cell.
    """

    def __init__(self, folder: Path, cells: int, first: int = 0) -> None:
        make_folder(folder)
        try:
            mode = "a" if first else "w"
            self._lines, self._arrays = open(folder / INDEX, mode), open(folder / ARRAYS, f"{mode}b")  # noqa: SIM115
        except OSError as error:
            raise UserError(f"cannot write to {folder}: {error.strerror}") from None
        self._bases: dict[tuple, tuple[str, dict[str, Any]]] = {}
        self._first, self._count, self._offset = first, 0, self._arrays.tell()
        self._flushed = 0.0
        self.write_line({"sweep": {"cells": first + cells}})
        self._flush()

    def __enter__(self) -> IndexWriter:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for file in (self._arrays, self._lines):
            file.close()

    def add(self, job: Job, outcome: Outcome, record: Record | None) -> None:
        """Writes the cell of a job; `record` is None for a failed one."""
        self.write(manifest_of(job, outcome, record), record.arrays if record else {})

    def write(self, manifest: dict[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
        """Writes one cell; its manifest describes the arrays by `files`."""
        try:
            offset = self._offset
            for array in arrays.values():
                self._offset += self._arrays.write(np.ascontiguousarray(array).tobytes())
            self.write_line(self._line(manifest) | {"offset": offset})
            if time.monotonic() - self._flushed > _FLUSH_SECONDS:
                self._flush()
        except OSError as error:
            raise UserError(f"cannot write {self._lines.name}: {error.strerror}") from None

    def _line(self, manifest: dict[str, Any]) -> dict[str, Any]:
        kind = (*sorted(manifest), *manifest["choices"].items())
        name, base = self._bases.get(kind, ("", None))
        changes = None if base is None else difference(base, manifest)
        if changes is None:
            name, changes = f"{self._first}.{self._count}", {}
            self._bases[kind] = name, manifest
            self._count += 1
            self.write_line({"base": name, "manifest": manifest})
        return {"of": name, "changes": changes}

    def write_line(self, line: dict[str, Any]) -> None:
        """Writes a line of JSON with its digest."""
        text = json.dumps(line)[:-1]
        self._lines.write(f'{text}{_SUM}{digest(text.encode())[:16]}"}}\n')

    def _flush(self) -> None:
        # The arrays first: a reader of a running sweep finds those of every line.
        self._arrays.flush()
        self._lines.flush()
        self._flushed = time.monotonic()


class Entry(NamedTuple):
    """A cell in an index: its manifest, and where its arrays are."""

    manifest: Mapping[str, Any]
    arrays: ArrayFile
    offset: int


class _OpenFile:
    """A file that stays open from its first reading on, so that another process may replace it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._handle = -1

    def _read(self, count: int, offset: int) -> bytes:
        try:
            if self._handle < 0:
                self._handle = os.open(self.path, os.O_RDONLY)
            return os.pread(self._handle, count, offset)
        except OSError as error:
            raise DamagedCellError(f"{self.path} cannot be read ({error.strerror}): {_REMEDY}") from None

    def __del__(self) -> None:
        if self._handle >= 0:
            os.close(self._handle)


class ArrayFile(_OpenFile):
    """The arrays of a sweep; each is read and checked when it is asked for."""

    def read(self, entry_offset: int, files: dict[str, Any], name: str) -> np.ndarray:
        """Returns one array of the cell whose arrays start at an offset."""
        before = 0
        for other, facts in files.items():
            if other == name:
                break
            before += size(facts)
        data = self._read(size(files[name]), entry_offset + before)
        try:
            return read_arrays({name: files[name]}, data)[name]
        except DamagedCellError as error:
            raise DamagedCellError(f"{self.path} is damaged ({error}): {_REMEDY}") from None


class _LineFile(_OpenFile):
    """The lines of an index, to read one of them again."""

    def changes(self, offset: int) -> dict[str, Any]:
        """Returns the changes of a cell whose line starts at an offset."""
        count = _LINE_BYTES
        text = self._read(count, offset)
        while b"\n" not in text and len(text) == count:
            count *= 4
            text = self._read(count, offset)
        return _checked(text[: text.find(b"\n") + 1], self.path)["changes"]


def write_plan(folder: Path, cells: Sequence[Sequence[str]]) -> None:
    """Writes an index without cells, but with the overrides of each: for launchers whose jobs record their own cell.

    A job of an earlier sweep in the same folder may still run. Its cell has other overrides.
    """
    with IndexWriter(folder, len(cells)) as index:
        index.write_line({"plan": [overrides_digest(overrides) for overrides in cells]})


def overrides_digest(overrides: Sequence[str]) -> str:
    """Returns a short digest of the overrides of a cell."""
    return digest("\n".join(overrides).encode())[:8]


def read_header(folder: Path) -> tuple[int | None, list[str] | None]:
    """Returns how many cells the sweep in a folder has, finished or not, and the digests of their overrides.

    Both are None where its index does not say so.
    """
    cells, plan = None, None
    with contextlib.suppress(OSError, ValueError), open(folder / INDEX) as file:
        for line in file:
            if line.startswith('{"sweep"'):
                cells = json.loads(line)["sweep"]["cells"]
            elif line.startswith('{"plan"'):
                plan = json.loads(line)["plan"]
    return cells, plan


def count_missing(folder: Path) -> int:
    """Returns how many cells of the sweep in a folder have no record yet; 0 where that is not known."""
    recorded = 0
    for place in find_indexes(folder):
        with open(place / INDEX) as file:
            recorded += sum(line.startswith('{"of"') for line in file)
    return max(0, (read_header(folder)[0] or 0) - recorded)


def read_index(folder: Path) -> Iterator[Entry]:
    """Yields the cells of an index in the order of its lines; raises `DamagedCellError` where a line is damaged."""
    return IndexReader(folder).read()


class IndexReader:
    """Reads an index that may still grow: each reading goes on where the last one ended."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / INDEX
        self._arrays, self._changes = ArrayFile(folder / ARRAYS), _LineFile(self.path).changes
        self._bases: dict[str, Base] = {}
        self.stop, self._number = 0, 0
        self.header: dict[str, Any] = {}
        """The lines on the whole sweep: its number of cells, and their plan."""

    def read(self) -> Iterator[Entry]:
        """Yields the cells of the lines that were not read before."""
        with open(self.path, "rb") as file:
            file.seek(self.stop)
            for text in file:
                if not text.endswith(b"\n"):
                    # The process that writes it is at work, or was killed; the cell counts as missing.
                    return
                start, self.stop, self._number = self.stop, self.stop + len(text), self._number + 1
                line = _checked(text, self.path, f" in line {self._number}")
                if "sweep" in line or "plan" in line:
                    self.header |= line
                elif "manifest" in line:
                    self._bases[line["base"]] = Base(line["manifest"])
                elif "changes" in line:
                    if line["of"] not in self._bases:
                        raise DamagedCellError(f"{self.path} lacks a line that line {self._number} needs: {_REMEDY}")
                    manifest = Layered(self._bases[line["of"]], slim(line["changes"]), self._changes, start)
                    yield Entry(manifest, self._arrays, line["offset"])


def _checked(text: bytes, path: Path, where: str = "") -> dict[str, Any]:
    body, _, rest = text.rpartition(_SUM.encode())
    if rest != f'{digest(body)[:16]}"}}\n'.encode():
        raise DamagedCellError(f"{path} is damaged{where}: {_REMEDY}")
    return json.loads(body + b"}")


def find_indexes(folder: Path) -> list[Path]:
    """Returns the folders at and below a folder that hold an index, in the order of their numbers."""
    folders = [Path(root) for root, _, files in os.walk(folder) if INDEX in files]
    return sorted(folders, key=lambda path: [(len(part), part) for part in path.relative_to(folder).parts])


def forget_cells(folder: Path) -> None:
    """Removes the indexes of an earlier sweep from its folder; the store keeps the cells."""
    for place in find_indexes(folder):
        for name in (INDEX, ARRAYS):
            (place / name).unlink(missing_ok=True)
