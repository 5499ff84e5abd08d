"""The cells of a sweep in two files of its folder: a line of JSON per cell, and their arrays in one file.

Most cells of a sweep differ in a few values, so a line holds the differences from an earlier manifest, its base.
Every line has a digest of its own, and every array one in its line. The last line says how many lines came before it.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from brittlestar.cells.record import DamagedCellError, digest, read_arrays, size
from brittlestar.errors import listed
from brittlestar.sweeps.layers import Base, ChangePool

INDEX, ARRAYS = "cells.jsonl", "cells.bin"
SUM = ', "sum": "'
"""What is before the digest of a line."""
_LINE_BYTES = 4096
"""Most lines are shorter."""
_REMEDY = "run the command of the sweep again"


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


def read_index(folder: Path) -> Iterator[Entry]:
    """Yields the cells of an index in the order of its lines; raises `DamagedCellError` where a line is damaged."""
    return IndexReader(folder).read()


class IndexReader:
    """Reads an index that may still grow: each reading goes on where the last one ended."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / INDEX
        self._arrays, self._changes = ArrayFile(folder / ARRAYS), _LineFile(self.path).changes
        self._bases, self._pool = dict[str, Base](), ChangePool()
        self.stop, self._number = 0, 0
        self.header: dict[str, Any] = {}
        """The lines on the whole sweep: its number of cells, and their plan."""
        self._recorded, self._lines, self._is_repeated = bytearray(), 0, False
        self._whole_bytes: int | None = None
        """Where the arrays end, behind the last line of a part."""

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
                if self._number == 1 and "sweep" not in line:
                    raise DamagedCellError(f"{self.path} lacks its first line: {_REMEDY}")
                self._lines, self._whole_bytes = self._lines + 1, None
                if "sweep" in line:
                    self.header |= line
                    self._recorded, self._lines = self._recorded.ljust(line["sweep"]["cells"], b"\0"), 1
                elif "plan" in line:
                    self.header |= line
                elif "end" in line:
                    self._check_part(line["end"])
                elif "manifest" in line:
                    self._bases[line["base"]] = Base(line["manifest"])
                elif "changes" in line:
                    if line["of"] not in self._bases:
                        raise DamagedCellError(f"{self.path} lacks a line that line {self._number} needs: {_REMEDY}")
                    manifest = self._pool.manifest(self._bases[line["of"]], line["changes"], self._changes, start)
                    if (number := manifest.get("number", 0)) < len(self._recorded):
                        self._is_repeated |= bool(self._recorded[number])
                        self._recorded[number] = 1
                    yield Entry(manifest, self._arrays, line["offset"])
        self._check_end()

    @property
    def is_ended(self) -> bool:
        """Whether the last line that was read is the last one of a sweep, or of a part of it."""
        return self._whole_bytes is not None

    @property
    def missing(self) -> list[int]:
        """The numbers of the cells without a line, so far."""
        return [number for number, count in enumerate(self._recorded) if not count]

    def _check_part(self, end: dict[str, int]) -> None:
        """Refuses a part of a sweep whose lines are not those that were written."""
        if self._is_repeated or self._lines != end["lines"] + 1:
            # The index of one cell of a larger sweep has another number than its own 0.
            cells = f", of {listed('cell', self.missing)}" if self.missing and any(self._recorded) else ""
            raise DamagedCellError(f"{self.path} lacks lines that were written{cells}: {_REMEDY}")
        self._whole_bytes = end["bytes"]

    def _check_end(self) -> None:
        """Refuses an index that ends with a whole part although its arrays go on: it had more lines."""
        if self._whole_bytes is None:
            return
        with contextlib.suppress(OSError):
            # In this order: the first line of another part comes before its arrays.
            arrays, lines = os.path.getsize(self._arrays.path), os.path.getsize(self.path)
            if arrays > self._whole_bytes and lines == self.stop:
                raise DamagedCellError(f"{self.path} lacks lines at its end: {_REMEDY}")


def _checked(text: bytes, path: Path, where: str = "") -> dict[str, Any]:
    body, _, rest = text.rpartition(SUM.encode())
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
