"""Writes the index of a sweep, see `sweeps.index`."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from brittlestar.cells.files import make_folder
from brittlestar.cells.job import Job, Outcome
from brittlestar.cells.record import Record, digest
from brittlestar.cells.run import manifest_of
from brittlestar.errors import UserError
from brittlestar.sweeps.index import ARRAYS, INDEX, SUM, overrides_digest
from brittlestar.sweeps.layers import difference

_FLUSH_SECONDS = 0.2


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
        self._cells, self._written, self._line_count = cells, 0, 0
        self._pending: list[str] = []
        self._lock, self._flushed = threading.Lock(), 0.0
        self._timer: threading.Timer | None = None
        self.write_line({"sweep": {"cells": first + cells}})
        try:
            self._flush()
        except OSError as error:
            self.__exit__(None, None, None)
            raise UserError(f"cannot write to {folder}: {error.strerror}") from None

    def __enter__(self) -> IndexWriter:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        files = self._arrays, self._lines
        if kind is None and self._written == self._cells:
            self.write_end()
        try:
            self._flush()
            for file in files:
                file.close()
        except OSError as failure:
            raise UserError(f"cannot write {self._lines.name}: {failure.strerror}") from None
        finally:
            for file in files:
                # A file that could not be flushed cannot be closed at the first attempt.
                with contextlib.suppress(OSError):
                    file.close()

    def add(self, job: Job, outcome: Outcome, record: Record | None) -> None:
        """Writes the cell of a job; `record` is None for a failed one."""
        self.write(manifest_of(job, outcome, record), record.arrays if record else {})

    def write(self, manifest: dict[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
        """Writes one cell; its manifest describes the arrays by `files`."""
        try:
            offset = self._offset
            with self._lock:
                for array in arrays.values():
                    self._offset += self._arrays.write(np.ascontiguousarray(array).tobytes())
            self.write_line(self._line(manifest) | {"offset": offset})
            self._written += 1
            self._flush_soon()
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
        with self._lock:
            self._pending.append(f'{text}{SUM}{digest(text.encode())[:16]}"}}\n')
            self._line_count += 1

    def write_end(self) -> None:
        """Writes the last line, by which a reader notices that others were lost."""
        self.write_line({"end": {"lines": self._line_count, "bytes": self._offset}})

    def _flush(self) -> None:
        with self._lock:
            self._timer, self._flushed = None, time.monotonic()
            # The arrays first: a reader of a running sweep finds those of every line.
            self._arrays.flush()
            lines, self._pending = self._pending, []
            self._lines.writelines(lines)
            self._lines.flush()

    def _flush_soon(self) -> None:
        """Writes to disk now, or in a moment: the next cell may take hours, and a reader waits for this one."""
        if time.monotonic() - self._flushed > _FLUSH_SECONDS:
            self._flush()
        elif self._timer is None:
            self._timer = threading.Timer(_FLUSH_SECONDS, self._flush_later)
            self._timer.daemon = True
            self._timer.start()

    def _flush_later(self) -> None:
        # The next cell, or the end of the sweep, reports a full disk.
        with contextlib.suppress(OSError, ValueError):
            self._flush()


def write_plan(folder: Path, cells: Sequence[Sequence[str]], first: int = 0) -> None:
    """Writes an index without cells, but with the overrides of each: for launchers whose jobs record their own cell.

    A job of an earlier sweep in the same folder may still run. Its cell has other overrides. In a sweep that comes in
    parts, the cells from `first` on are those of the last part.
    """
    with IndexWriter(folder, len(cells) - first, first) as index:
        index.write_line({"plan": [overrides_digest(overrides) for overrides in cells]})
        index.write_end()
