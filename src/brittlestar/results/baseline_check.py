"""The baseline check: does a policy reach its recorded return before anything disturbs it?

A policy that misses it (wrong environment version, lost statistics, broken file) shows nothing about robustness.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from brittlestar.checkpoints.scores import describe_steps
from brittlestar.policies.base import RecordedReturn
from brittlestar.results.format import bounded, text
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
    cause: str = ""
    """A likely reason for a difference."""

    def __str__(self) -> str:
        sides = f"recorded {_interval(self.recorded)}, found {_interval(self.measured)}"
        limit = "" if self.max_steps is None else f" in {self.max_steps} steps, not compared"
        cause = f"; a likely cause: {self.cause}" if self.cause and self.status in (MISMATCH, ABOVE) else ""
        return f"{self.status}: {sides}{limit}{cause}"


def check_baseline(
    recorded: RecordedReturn, returns: np.ndarray, max_steps: int | None = None, cause: str = ""
) -> BaselineCheck:
    """Compares clean returns with the recorded ones, by Welch's interval of their difference.

    A mean between those of the recorded evaluations agrees with them, whatever the interval. `max_steps` is the time
    limit of the returns, if it is not that of the record; then nothing is compared. `cause` is a likely reason for a
    difference.

    Example:
        >>> check_baseline(RecordedReturn(171.0, 9.0, 10), np.full(20, 500.0)).status
        'above its record'
    """
    measured = RecordedReturn.of(returns)
    if max_steps is not None:
        return BaselineCheck(OTHER_LIMIT, recorded, measured, max_steps)
    gap = measured.mean - recorded.mean
    # Networks of one training differ more than their episodes do, so the pooled interval is too narrow for one of them.
    lowest, highest = recorded.lowest, recorded.highest
    is_between = lowest is not None and highest is not None and lowest <= measured.mean <= highest
    half = welch_half_width([recorded.std**2, measured.std**2], [recorded.episodes, measured.episodes], CHECK_LEVEL)
    if is_between or abs(gap) <= half or abs(gap) <= TOLERANCE * abs(recorded.mean):
        return BaselineCheck("ok", recorded, measured)
    return BaselineCheck(ABOVE if gap > 0 else MISMATCH, recorded, measured, cause=cause)


def other_limit(manifest: Mapping[str, Any]) -> int | None:
    """Returns the time limit of a cell, if it is not that of its environment, which records are about.

    Example:
        >>> other_limit({"config": {"env": {"id": "Ant-v3", "max_steps": 40}}, "registered_steps": 1000})
        40
        >>> other_limit({"config": {"env": {"id": "Ant-v3", "max_steps": 1000}}, "registered_steps": 1000})
    """
    env = manifest["config"]["env"]
    if env.get("max_steps") is None:
        return None
    from brittlestar.envs.ids import registered_limit

    # Cells of earlier versions do not state it.
    registered = manifest["registered_steps"] if "registered_steps" in manifest else registered_limit(str(env["id"]))
    return None if env["max_steps"] == registered else int(env["max_steps"])


def likely_cause(config: dict[str, Any]) -> str:
    """Returns why a policy may miss its record in the environment of a config; empty if nothing is likely.

    Example:
        >>> likely_cause({"env": {"id": "Hopper-v3"}, "policy": {}})
        'EnvPool simulates Hopper-v3 with a newer MuJoCo than that of the training'
    """
    from brittlestar.envs.backends import is_old

    env_id, adapter = str(config["env"].get("id")), config["policy"].get("adapter")
    if adapter is not None:
        return f"`policy.adapter={adapter}`: {env_id} is not the environment of the training"
    return f"EnvPool simulates {env_id} with a newer MuJoCo than that of the training" if is_old(env_id) else ""


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
    facts = [f"{record.episodes} episodes"] * (record.episodes > 1)
    if record.first_step is not None and record.last_step is not None:
        facts.append(describe_steps(record.evaluations, record.first_step, record.last_step))
    if record.lowest is not None and record.highest is not None:
        facts.append(f"means {text(record.lowest)} to {text(record.highest)}")
    return bounded(record.mean, record.mean - half, record.mean + half) + (f" ({', '.join(facts)})" if facts else "")
