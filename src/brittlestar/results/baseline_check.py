"""The baseline gate: does a policy still do what was recorded when it was trained?

A policy that misses its record before anything disturbs it (wrong environment version, lost statistics, broken
file) says nothing about robustness.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from brittlestar.statistics import stats

LEVEL = 0.99
TOLERANCE = 0.05
"""A difference below this share of the record is no mismatch, however many episodes prove it."""
MISMATCH = "baseline mismatch"
ABOVE = "above its record"
"""Better than it was recorded, as after a longer training than the recorded one: no reason to doubt its curves."""
OTHER_LIMIT = "time limit differs"
"""The return of a shorter or longer episode is another quantity than the recorded one: not compared."""


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
    """What the gate says: `status` is `ok`, `above its record`, `baseline mismatch` or `time limit differs`."""

    status: str
    record: Record
    found: Record
    max_steps: int | None = None
    """The time limit, if it is not that of the record."""

    def __str__(self) -> str:
        sides = f"recorded {_interval(self.record)}, found {_interval(self.found)}"
        return f"{self.status}: {sides}" + (
            "" if self.max_steps is None else f" in {self.max_steps} steps, not compared"
        )


def check(record: Record, returns: np.ndarray, max_steps: int | None = None) -> Verdict:
    """Compares clean returns with the recorded ones, by Welch's interval of their difference.

    Args:
        record: what was recorded.
        returns: one return per clean episode.
        max_steps: their time limit, if it is not that of the record: then nothing is compared.

    Example:
        >>> check(Record(500.0, 0.0, 10), np.full(20, 500.0)).status
        'ok'
        >>> check(Record(500.0, 0.0, 10), np.array([90.0, 110.0, 100.0, 95.0])).status
        'baseline mismatch'
        >>> check(Record(171.0, 9.0, 10), np.full(20, 500.0)).status
        'above its record'
    """
    found = Record.of(returns)
    if max_steps is not None:
        return Verdict(OTHER_LIMIT, record, found, max_steps)
    gap = found.mean - record.mean
    half = _welch_half_width(record, found)
    if abs(gap) <= half or abs(gap) <= TOLERANCE * abs(record.mean):
        return Verdict("ok", record, found)
    return Verdict(ABOVE if gap > 0 else MISMATCH, record, found)


def other_limit(env: dict[str, Any]) -> int | None:
    """Returns the time limit of an environment's config, if it is not the registered one, which records are about.

    Example:
        >>> other_limit({"id": "CartPole-v1", "max_steps": 500}), other_limit({"id": "CartPole-v1", "max_steps": 40})
        (None, 40)
    """
    asked = env.get("max_steps")
    if asked is None:
        return None
    import gymnasium as gym

    from brittlestar.envs.base import register_robotics

    register_robotics(str(env["id"]))
    known = gym.registry.get(str(env["id"]))
    return None if known is not None and known.max_episode_steps == asked else int(asked)


def objections(verdicts: Sequence[Verdict]) -> list[str]:
    """Returns what a baseline check has against some policies: those that miss their record, or have none to compare.

    Example:
        >>> objections([check(Record(171.0), np.full(20, 500.0))])
        []
    """
    if not verdicts:
        return ["no policy came with a recorded return to check against: set `policy.recorded`"]
    return [str(verdict) for verdict in verdicts if verdict.status == MISMATCH] + not_compared(verdicts)


def not_compared(verdicts: Sequence[Verdict]) -> list[str]:
    """Says once, for all policies, that the time limit keeps their returns from being compared."""
    limits = sorted({verdict.max_steps for verdict in verdicts if verdict.max_steps is not None})
    told = ", ".join(map(str, limits))
    return [f"{OTHER_LIMIT} (`env.max_steps` = {told}): no return is compared with its record"] if limits else []


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
