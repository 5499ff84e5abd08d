"""A sweep that runs elsewhere, read from its folder as its cells end; nothing is written there."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from brittlestar.cells.claims import holder_of
from brittlestar.cells.record import DamagedCellError
from brittlestar.errors import UserError, nearest_file
from brittlestar.results.load import Cell
from brittlestar.sweeps.index import INDEX, IndexReader, find_indexes
from brittlestar.sweeps.missing import is_planned


class SweepFollower:
    """The cells of a sweep so far; `poll` reads those that ended since."""

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            place = folder.absolute()
            siblings = [path.name for path in place.parent.iterdir()] if place.parent.is_dir() else []
            raise UserError(f"no folder at {folder}{nearest_file(place.name, siblings)}")
        self.folder = folder
        self.cells: list[Cell] = []
        self.total: int | None = None
        """How many cells the sweep has, finished or not; None before that is known."""
        self.holder: dict[str, Any] | None = None
        """The process that has the folder; None if the sweep has ended."""
        self._readers: dict[Path, IndexReader] = {}
        self._files: dict[Path, int] = {}
        self._is_damaged = False
        self._first: tuple[float, int, int] | None = None
        self.poll()
        if self.total is None and self.holder is None:
            raise UserError(f"{folder} is not the folder of a sweep: it has no {INDEX}, and no process uses it")

    def poll(self) -> bool:
        """Reads what is new, and returns whether a cell is."""
        # First the process: when it has ended, all its cells are in the index.
        self.holder, before = holder_of(self.folder), len(self.cells)
        try:
            self._read()
            self._is_damaged = False
        except (OSError, DamagedCellError) as error:
            # A new sweep in the same folder may have replaced the files. If it has not, they are damaged.
            if self._is_damaged and isinstance(error, DamagedCellError):
                raise
            self._is_damaged = True
            self._forget()
        now = time.monotonic(), len(self.cells), self.episodes
        self._first = now if self._first is None or self._first[1] > now[1] else self._first
        return len(self.cells) != before

    def _read(self) -> None:
        places = find_indexes(self.folder)
        files = {place: os.stat(place / INDEX) for place in places}
        if any(p not in files or self._is_other(p, files[p]) for p in self._files):
            self._forget()
        for place, facts in files.items():
            reader = self._readers.setdefault(place, IndexReader(place))
            self._files[place] = facts.st_ino
            entries = list(reader.read())
            plan = self._readers[self.folder].header.get("plan") if self.folder in self._readers else None
            self.cells += [
                Cell(e.manifest, source=(e.arrays, e.offset)) for e in entries if is_planned(e.manifest, plan)
            ]
        counts = {place: reader.header["sweep"]["cells"] for place, reader in self._readers.items() if reader.header}
        self.total = counts.get(self.folder, sum(counts.values()) if counts else None)

    def _is_other(self, place: Path, facts: os.stat_result) -> bool:
        """Whether the index in a folder is not the one that was read."""
        return self._files[place] != facts.st_ino or facts.st_size < self._readers[place].stop

    def _forget(self) -> None:
        self.cells, self.total = [], None
        self._readers.clear()
        self._files.clear()

    @property
    def failed(self) -> int:
        """How many cells have no result."""
        return sum(not cell.done for cell in self.cells)

    @property
    def episodes(self) -> int:
        """How many episodes the finished cells have."""
        return sum(int(cell.setting("episodes") or 0) for cell in self.cells if cell.done)

    @property
    def missing(self) -> int:
        """How many cells have no record yet."""
        return max(0, (self.total or 0) - len(self.cells))

    def speed(self) -> tuple[float, float]:
        """Returns episodes and cells per second since the first look."""
        assert self._first is not None
        seconds = max(time.monotonic() - self._first[0], 1e-9)
        return (self.episodes - self._first[2]) / seconds, (len(self.cells) - self._first[1]) / seconds
