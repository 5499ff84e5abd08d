"""Packs cells into tasks by their expected duration: how long cells take, and which cells form a task."""

from __future__ import annotations

import json
import statistics
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from brittlestar.cells.job import ResolvedJob

LEAST_SECONDS = 30.0
"""Expected duration of the shortest task: the start of a task costs a few seconds."""
GUESS_SECONDS = 60.0
"""Expected duration of a cell before any was measured."""
_REMEMBERED = 99
"""Cells of one kind that an expectation is made of: the last ones."""


@dataclass(frozen=True)
class TaskLimits:
    """How large tasks become: minutes of a task, its cores, how many run at once, and how many there are at most.

    `longest_minutes` bounds tasks that are enlarged because there would be too many of them.
    """

    minutes: float
    cores: int = 1
    parallel: int = 1
    most_tasks: int = 1000
    longest_minutes: float | None = None


class Durations:
    """Learns how long cells take: seconds per episode, by environment and policy.

    Example:
        >>> durations = Durations()
        >>> durations.expected_of("cartpole", episodes=10)
        60.0
        >>> durations.add("cartpole", episodes=10, seconds=2.0)
        >>> durations.expected_of("cartpole", episodes=100), durations.expected_of("fetch_reach", episodes=100)
        (20.0, 20.0)
    """

    def __init__(self) -> None:
        self._rates: dict[str, deque[float]] = {}

    @property
    def is_measured(self) -> bool:
        """Whether any cell was measured."""
        return bool(self._rates)

    def add(self, kind: str, episodes: int, seconds: float) -> None:
        """Learns from one finished cell."""
        self._rates.setdefault(kind, deque(maxlen=_REMEMBERED)).append(seconds / max(episodes, 1))

    def expected_of(self, kind: str, episodes: int) -> float:
        """Returns the expected seconds of one cell: by cells of its kind, else by all, else a guess."""
        rates = self._rates.get(kind) or [rate for rates in self._rates.values() for rate in rates]
        # The first cell of a process also loads the policy: the median ignores it.
        return statistics.median(rates) * max(episodes, 1) if rates else GUESS_SECONDS


def kind_of(job: ResolvedJob) -> str:
    """Returns what the duration of an episode mostly depends on: environment and policy."""
    return json.dumps([job.config["env"], job.config["policy"]], sort_keys=True, default=str)


def pack(seconds: Sequence[float], limits: TaskLimits) -> list[list[int]]:
    """Returns tasks: each is a list of positions in `seconds`, the expected durations of cells. The order is kept.

    - A task takes at most `limits.minutes`, except that it has at least one cell per core.
    - The first tasks are large and the last ones small, so that all nodes end at about the same time.
    - No task is expected to be shorter than `LEAST_SECONDS`, except the last one.
    - If there would be more than `limits.most_tasks`, tasks are larger, up to `limits.longest_minutes`.

    Example:
        >>> [len(task) for task in pack([0.05] * 10_000, TaskLimits(minutes=10, parallel=2))]
        [2500, 1875, 1406, 1054, 791, 600, 600, 600, 574]
        >>> pack([3600.0, 3600.0, 3600.0], TaskLimits(minutes=10, cores=2))
        [[0, 1], [2]]
    """
    minutes = limits.minutes
    tasks = _cut(seconds, limits, minutes)
    while len(tasks) > limits.most_tasks and (limits.longest_minutes is None or minutes < limits.longest_minutes):
        minutes *= 2
        tasks = _cut(seconds, limits, min(minutes, limits.longest_minutes or minutes))
    return tasks


def _cut(seconds: Sequence[float], limits: TaskLimits, minutes: float) -> list[list[int]]:
    tasks: list[list[int]] = []
    left, position, least = sum(seconds) / limits.cores, 0, LEAST_SECONDS
    if limits.most_tasks * least < left:
        # The small tasks at the end must not be too many either.
        least = min(60 * minutes, max(least, left / limits.most_tasks))
    while position < len(seconds):
        size = min(60 * minutes, max(least, left / (2 * limits.parallel)))
        task = _fill(seconds, position, size * limits.cores, limits.cores)
        left -= sum(seconds[i] for i in task) / limits.cores
        position += len(task)
        tasks.append(task)
    return tasks


def _fill(seconds: Sequence[float], first: int, size: float, cores: int) -> list[int]:
    """Returns the positions of the next task: cells of `size` seconds in all, at least one per core."""
    total, last = 0.0, first
    while last < len(seconds) and (last - first < cores or total + seconds[last] <= size * (1 + 1e-9)):
        total += seconds[last]
        last += 1
    return list(range(first, last))
