"""Reads the returns that an evaluation in training recorded, as data."""

import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np

from brittlestar.checkpoints.messages import printable, unreadable
from brittlestar.checkpoints.zip_entries import ZipEntries

MAX_SCORES_BYTES = 64 << 20
MOST_POOLED = 5
"""How many evaluations count as the last ones of a training, at most."""
LAST_SHARE = 0.1
"""Share of the training steps whose evaluations count as the last ones."""

_NPY_HEADER = re.compile(
    rb"\{'descr': '([<>|](?:f[248]|[iu][1248]))', 'fortran_order': (True|False), "
    rb"'shape': \(((?:[0-9]{1,9}, ?){0,7}(?:[0-9]{1,9})?)\), \}\s*"
)


@dataclass(frozen=True)
class Scores:
    """Returns of some evaluations, `(evaluations, episodes)`, and the training step of each."""

    returns: np.ndarray
    steps: np.ndarray | None = None
    """None where the file does not state them."""

    def last(self, step: int | None = None) -> Self | None:
        """Returns the evaluations that describe an agent: the last ones up to its training step, or of all.

        These are at most `MOST_POOLED`, within `LAST_SHARE` of the steps; only the very last one if no step is stated.
        None if the first evaluation came later than the agent.

        Example:
            >>> scores = Scores(np.arange(4.0)[:, None], np.array([50, 91, 96, 100]))
            >>> scores.last().steps.tolist(), scores.last(step=60).steps.tolist(), scores.last(step=40)
            ([91, 96, 100], [50], None)
        """
        if self.steps is None:
            return type(self)(self.returns[-1:])
        until = self.steps <= (self.steps[-1] if step is None else step)
        if not until.any():
            return None
        recent = until & (self.steps >= (1 - LAST_SHARE) * self.steps[until][-1])
        pooled = np.flatnonzero(recent)[-MOST_POOLED:]
        return type(self)(self.returns[pooled], self.steps[pooled])


def read_scores(path: Path) -> Scores | None:
    """Returns all evaluations in `evaluations.npz`, or None without such a file."""
    if not path.is_file():
        return None
    try:
        with path.open("rb") as file:
            entries = ZipEntries(file, str(path))
            results = _read_npy(entries, "results.npy")
            steps = _read_npy(entries, "timesteps.npy") if "timesteps.npy" in entries.names else None
    except OSError as error:
        raise unreadable(str(path), error.strerror or error) from None
    if results.ndim < 2 or not results.size:
        raise unreadable(entries.place("results.npy"), f"shape {results.shape} is not (evaluations, episodes)")
    returns = np.asarray(results.reshape(len(results), -1), dtype=np.float64)
    is_valid = steps is not None and steps.shape == (len(returns),) and (np.diff(steps) > 0).all()
    return Scores(returns, steps if is_valid else None)


def describe_steps(count: int, first: int, last: int) -> str:
    """Returns when in training evaluations were made.

    Example:
        >>> describe_steps(1, 500, 500), describe_steps(3, 900, 1000)
        ('at step 500', '3 evaluations at steps 900 to 1000')
    """
    return f"at step {last}" if count == 1 else f"{count} evaluations at steps {first} to {last}"


def _read_npy(entries: ZipEntries, name: str) -> np.ndarray:
    """Reads an entry of `numpy.savez`; numpy itself would allocate any size that the header states."""
    content, where = entries.read(name, MAX_SCORES_BYTES), entries.place(name)
    size = {b"\x93NUMPY\1\0": 2, b"\x93NUMPY\2\0": 4}.get(content[:8], 0)
    start = 8 + size + int.from_bytes(content[8 : 8 + size], "little")
    header = _NPY_HEADER.fullmatch(content[8 + size : min(start, 1000)])
    if not size or header is None:
        raise unreadable(where, "it is not a plain array of numbers")
    dtype, shape = np.dtype(header[1].decode()), tuple(int(word) for word in header[3].split(b",") if word.strip())
    numbers = content[start:]
    if math.prod(shape) * dtype.itemsize != len(numbers):
        raise unreadable(where, f"it is not a plain array: {len(numbers)} bytes for {printable(shape, 60)} {dtype}")
    return np.frombuffer(numbers, dtype).reshape(shape, order="C" if header[2] == b"False" else "F")
