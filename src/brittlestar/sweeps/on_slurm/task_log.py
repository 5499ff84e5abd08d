"""The log of a task that runs elsewhere: JSON lines, appended by the task and read by the driver of the sweep."""

from __future__ import annotations

import dataclasses
import json
import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

from brittlestar.cells.job import Outcome

BEGIN, END = "begin", "end"
_SYNC_SECONDS = 0.5


class TaskLogWriter:
    """Appends lines to the log of a task; use it as a context manager.

    A task that is requeued appends to the log of its first attempt, whose last line may be incomplete.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._synced = path, 0.0
        self._file: BinaryIO

    def __enter__(self) -> TaskLogWriter:
        self._file = self._path.open("ab", buffering=0)
        if self._file.tell() and not self._path.read_bytes().endswith(b"\n"):
            self._file.write(b"\n")
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        os.fsync(self._file.fileno())
        self._file.close()

    def event(self, name: str, **values: Any) -> None:
        """Appends the begin or the end of an attempt."""
        self._append({"event": name, **values})

    def outcome(self, outcome: Outcome) -> None:
        """Appends the outcome of a cell."""
        self._append({"outcome": dataclasses.asdict(outcome)})

    def _append(self, line: dict[str, Any]) -> None:
        self._file.write(json.dumps(line).encode() + b"\n")
        if time.monotonic() - self._synced > _SYNC_SECONDS:
            # A network file system shows other machines only what is synced.
            os.fsync(self._file.fileno())
            self._synced = time.monotonic()


class TaskLogReader:
    """Reads the lines of a log that were appended since the last look; an incomplete last line waits for its end."""

    def __init__(self, path: Path) -> None:
        self._path, self._place = path, 0
        self.has_begun = self.has_ended = False

    def new_outcomes(self) -> Iterator[Outcome]:
        """Yields the outcomes that were appended since the last call."""
        for line in self._new_lines():
            # Two attempts on two nodes may write at the same time, so a line can be damaged. The store has the cell.
            entry = _parsed(line)
            self.has_begun |= entry.get("event") == BEGIN
            self.has_ended |= entry.get("event") == END
            if "outcome" in entry:
                yield Outcome(**entry["outcome"])

    def _new_lines(self) -> Iterable[bytes]:
        try:
            with self._path.open("rb") as file:
                file.seek(self._place)
                whole, newline, _ = file.read().rpartition(b"\n")
        except OSError:
            return []
        self._place += len(whole) + len(newline)
        return whole.splitlines()


def _parsed(line: bytes) -> dict[str, Any]:
    try:
        entry = json.loads(line)
    except ValueError:
        return {}
    return entry if isinstance(entry, dict) else {}
