"""The baseline check: does a policy reach its recorded return before anything disturbs it?

A policy that misses it (wrong environment version, lost statistics, broken file) shows nothing about robustness.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from brittlestar.policies.base import RecordedReturn
from brittlestar.results.format import bounded
from brittlestar.statistics.intervals import t_half_width, welch_half_width

CHECK_LEVEL = 0.99
TOLERANCE = 0.05
"""A difference below this share of the record is not a mismatch, however many episodes show it."""
MISMATCH = "baseline mismatch"
ABOVE = "above its record"
"""Better than its record, as after a longer training than the recorded one. Its curves remain valid."""
OTHER_LIMIT = "time limit differs"
"""The return of a shorter or longer episode is another quantity than the recorded one, so it is not compared."""


@dataclass(frozen=True)
class BaselineCheck:
    """The recorded return of a policy, and the return of its clean episodes."""

    status: str
    """`ok`, `above its record`, `baseline mismatch` or `time limit differs`."""
    recorded: RecordedReturn
    measured: RecordedReturn
    max_steps: int | None = None
    """The time limit, if it is not that of the record."""

    def __str__(self) -> str:
        sides = f"recorded {_interval(self.recorded)}, found {_interval(self.measured)}"
        limit = "" if self.max_steps is None else f" in {self.max_steps} steps, not compared"
        return f"{self.status}: {sides}{limit}"


def check_baseline(recorded: RecordedReturn, returns: np.ndarray, max_steps: int | None = None) -> BaselineCheck:
    """Compares clean returns with the recorded ones, by Welch's interval of their difference.

    `max_steps` is their time limit, if it is not that of the record; then nothing is compared.

    Example:
        >>> check_baseline(RecordedReturn(171.0, 9.0, 10), np.full(20, 500.0)).status
        'above its record'
    """
    measured = RecordedReturn.of(returns)
    if max_steps is not None:
        return BaselineCheck(OTHER_LIMIT, recorded, measured, max_steps)
    gap = measured.mean - recorded.mean
    half = welch_half_width([recorded.std**2, measured.std**2], [recorded.episodes, measured.episodes], CHECK_LEVEL)
    if abs(gap) <= half or abs(gap) <= TOLERANCE * abs(recorded.mean):
        return BaselineCheck("ok", recorded, measured)
    return BaselineCheck(ABOVE if gap > 0 else MISMATCH, recorded, measured)


def other_limit(env: dict[str, Any]) -> int | None:
    """Returns the time limit of an environment's config, if it is not the registered one, which records are about.

    Example:
        >>> other_limit({"id": "CartPole-v1", "max_steps": 500}), other_limit({"id": "CartPole-v1", "max_steps": 40})
        (None, 40)
    """
    if env.get("max_steps") is None:
        return None
    from brittlestar.envs.base import registered_limit

    return None if env["max_steps"] == registered_limit(str(env["id"])) else int(env["max_steps"])


def objections(checks: Sequence[BaselineCheck]) -> list[str]:
    """Returns why a run with `check=baseline` fails: policies that miss their record, or nothing to compare."""
    if not checks:
        return ["no policy came with a recorded return to check against: set `policy.recorded`"]
    return [str(check) for check in checks if check.status == MISMATCH] + not_compared(checks)


def not_compared(checks: Sequence[BaselineCheck]) -> list[str]:
    """Returns one line for all policies whose returns are not compared because of the time limit."""
    limits = sorted({check.max_steps for check in checks if check.max_steps is not None})
    steps = ", ".join(map(str, limits))
    return [f"{OTHER_LIMIT} (`env.max_steps` = {steps}): no return is compared with its record"] if limits else []


def _interval(record: RecordedReturn) -> str:
    half = float(t_half_width(record.std, record.episodes))
    episodes = f" ({record.episodes} episodes)" if record.episodes > 1 else ""
    return bounded(record.mean, record.mean - half, record.mean + half) + episodes
