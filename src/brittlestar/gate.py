"""The baseline gate: does a policy still do what was recorded when it was trained?

A policy that misses its record before anything disturbs it (wrong environment version, lost statistics, broken
file) says nothing about robustness.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from brittlestar import stats

LEVEL = 0.99
TOLERANCE = 0.05
"""A difference below this share of the record is no mismatch, however many episodes prove it."""
MISMATCH = "baseline mismatch"


@dataclass(frozen=True)
class Record:
    """Return per episode that somebody measured; `std` and `episodes` are unknown for a bare number."""

    mean: float
    std: float = 0.0
    episodes: int = 1

    @classmethod
    def of(cls, returns: np.ndarray) -> Record:
        """Summarises recorded returns.

        Example:
            >>> Record.of(np.array([1.0, 2.0, 3.0]))
            Record(mean=2.0, std=1.0, episodes=3)
        """
        values = np.asarray(returns, dtype=np.float64).ravel()
        return cls(float(values.mean()), float(values.std(ddof=1)) if len(values) > 1 else 0.0, len(values))


@dataclass(frozen=True)
class Verdict:
    """What the gate says: `status` is `ok` or `baseline mismatch`."""

    status: str
    record: Record
    found: Record

    def __str__(self) -> str:
        return f"{self.status}: recorded {_interval(self.record)}, found {_interval(self.found)}"


def check(record: Record, returns: np.ndarray) -> Verdict:
    """Compares clean returns with the recorded ones, by Welch's interval of their difference.

    Args:
        record: what was recorded.
        returns: one return per clean episode.

    Example:
        >>> check(Record(500.0, 0.0, 10), np.full(20, 500.0)).status
        'ok'
        >>> check(Record(500.0, 0.0, 10), np.array([90.0, 110.0, 100.0, 95.0])).status
        'baseline mismatch'
    """
    found = Record.of(returns)
    gap = abs(found.mean - record.mean)
    half = _welch_half_width(record, found)
    missed = gap > half and gap > TOLERANCE * abs(record.mean)
    return Verdict(MISMATCH if missed else "ok", record, found)


def _welch_half_width(a: Record, b: Record) -> float:
    parts = [one.std**2 / one.episodes for one in (a, b)]
    if sum(parts) == 0:
        return 0.0
    spent = [part**2 / max(one.episodes - 1, 1) for part, one in zip(parts, (a, b), strict=True)]
    count = sum(parts) ** 2 / sum(spent) + 1
    return float(stats.t_half_width(np.sqrt(sum(parts) * count), count, LEVEL))


def recorded(manifest: dict[str, Any]) -> Record | None:
    """Returns the record that a cell's policy came with."""
    return Record(**manifest["record"]) if manifest.get("record") else None


def _interval(one: Record) -> str:
    if one.episodes < 2:
        return f"{one.mean:.4g}"
    half = float(stats.t_half_width(one.std, one.episodes))
    return f"{one.mean:.4g} [{one.mean - half:.4g}, {one.mean + half:.4g}] ({one.episodes} episodes)"
