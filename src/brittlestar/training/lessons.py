"""What a learner saw, and what an expert would have done there: the last rows in memory, and in pieces on disk."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np

from brittlestar.cells.files import write_file
from brittlestar.envs.batches import entries

_PIECE_ROWS = 4096
_ADVICE, _SEEN = "advice", "seen/"


class Lessons:
    """Rows of observations and actions; when there is no more room, new ones replace the oldest.

    Example:
        >>> import tempfile
        >>> lessons = Lessons(Path(tempfile.mkdtemp()), most=3)
        >>> lessons.add(np.array([[1.0], [2.0]]), np.array([10, 20]))
        >>> lessons.add(np.array([[3.0], [4.0]]), np.array([30, 40]))
        >>> lessons.pick(np.array([0, 1]))
        (array([[4.],
               [2.]]), array([40, 20]))
    """

    def __init__(self, folder: Path, most: int) -> None:
        self._folder, self._most = folder, most
        self._rows: dict[str, np.ndarray] = {}
        self.total = 0
        """Rows so far, also those that were replaced."""
        self._saved = 0

    def __len__(self) -> int:
        return min(self.total, self._most)

    def add(self, seen: Any, advice: np.ndarray) -> None:
        """Adds the observations of all environments, and the actions of the expert."""
        self._put({f"{_SEEN}{key}": part for key, part in entries(seen).items()} | {_ADVICE: advice})

    def _put(self, rows: dict[str, np.ndarray]) -> None:
        count = len(rows[_ADVICE])
        places = (self.total + np.arange(count)) % self._most
        for name, values in rows.items():
            if name not in self._rows:
                # Not zeros: a page of memory is taken when its first row is written.
                self._rows[name] = np.empty((self._most, *values.shape[1:]), values.dtype)
            self._rows[name][places] = values
        self.total += count

    def pick(self, places: np.ndarray) -> tuple[Any, np.ndarray]:
        """Returns observations and actions of some rows, by their places in memory."""
        seen = {name.removeprefix(_SEEN): rows[places] for name, rows in self._rows.items() if name != _ADVICE}
        return seen.get("", seen), self._rows[_ADVICE][places]

    def save(self) -> None:
        """Writes the rows that are in no piece yet, and removes pieces whose rows were all replaced."""
        self._folder.mkdir(parents=True, exist_ok=True)
        for start in self._starts():
            # Of a run that went on behind the checkpoint from which this one continues.
            if start >= self._saved:
                self._piece(start).unlink()
        first = max(self._saved, self.total - self._most)
        while first < self.total:
            last = min(first + _PIECE_ROWS, self.total)
            places = np.arange(first, last) % self._most
            rows: dict[str, Any] = {name: values[places] for name, values in self._rows.items()}
            write_file(self._piece(first), lambda file, rows=rows: np.savez_compressed(file, **rows))  # type: ignore[misc]
            first = last
        self._saved = self.total
        starts = self._starts()
        for start, after in itertools.pairwise(starts):
            if after <= self.total - self._most:
                self._piece(start).unlink()

    def load(self, total: int) -> None:
        """Reads the last of the first `total` rows; a piece that is missing or damaged is an error."""
        oldest = max(0, total - self._most)
        starts = [start for start in self._starts() if start < total]
        for start, after in zip(starts, [*starts[1:], total], strict=True):
            if after <= oldest:
                continue
            if start > max(oldest, self.total):
                break
            # A piece may hold rows of steps after the checkpoint, which a later piece has again.
            with np.load(self._piece(start)) as file:
                self.total = start
                self._put({name: file[name][: after - start] for name in file.files})
        if self.total < total:
            raise ValueError(f"{self._folder} does not hold the rows {self.total} to {total}")
        self._saved = total

    def _starts(self) -> list[int]:
        return sorted(int(path.stem) for path in self._folder.glob("*.npz"))

    def _piece(self, first: int) -> Path:
        return self._folder / f"{first:09d}.npz"
