"""The cells that wait for a node: packed into tasks by expected duration, or alone after their task died."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Iterator, Sequence

from brittlestar.cells.job import Outcome, ResolvedJob
from brittlestar.errors import counted
from brittlestar.sweeps.packing import Durations, TaskLimits, kind_of, pack

_PLAN_SECONDS = 30.0


class TaskQueue:
    """Cells that wait, and how often each of them lost its task."""

    def __init__(self, jobs: Sequence[ResolvedJob], minutes: float, cores: int, retries: int) -> None:
        self._waiting, self._alone = deque(jobs), deque[ResolvedJob]()
        self._kinds = dict[str, str]()
        self._minutes, self._cores, self._retries = minutes, cores, retries
        self._durations, self._deaths = Durations(), Counter[str]()
        self._plan: deque[int] = deque()
        self._planned = -_PLAN_SECONDS

    def __len__(self) -> int:
        return len(self._waiting) + len(self._alone)

    @property
    def is_measured(self) -> bool:
        """Whether the duration of tasks is known."""
        return self._durations.is_measured

    def take(self, slots: int) -> list[ResolvedJob]:
        """Returns the cells of the next task, for a cluster that runs `slots` tasks at once."""
        if self._alone:
            return [self._alone.popleft()]
        size = self._next_size(slots) if self.is_measured else self._cores
        return [self._waiting.popleft() for _ in range(min(size, len(self._waiting)))]

    def add_finished(self, job: ResolvedJob, outcome: Outcome) -> None:
        """Learns from the duration of a cell."""
        if outcome.seconds:
            self._durations.add(self._kind(job), job.config["episodes"], outcome.seconds)

    def put_back(self, jobs: Sequence[ResolvedJob], reason: str) -> Iterator[Outcome]:
        """Takes back the cells of a task that died; yields failed outcomes of those that ended too many tasks.

        The cells that were running run alone from now on: one of them may have ended the task.
        """
        suspects, others = jobs[: self._cores], jobs[self._cores :]
        for job in suspects:
            self._deaths[job.cell] += 1
            if self._deaths[job.cell] > self._retries:
                times = counted(self._deaths[job.cell], "time")
                error = f"its task ended {times} without a result, the last time because {reason}"
                yield Outcome("failed", job.number, job.cell, error=error)
            else:
                self._alone.append(job)
        self.put_back_unstarted(others)

    def put_back_unstarted(self, jobs: Sequence[ResolvedJob]) -> None:
        """Takes back cells that never ran."""
        self._waiting.extendleft(reversed(jobs))
        self._plan.clear()

    def _next_size(self, slots: int) -> int:
        if not self._plan or time.monotonic() - self._planned > _PLAN_SECONDS:
            limits = TaskLimits(self._minutes, self._cores, max(1, slots), most_tasks=max(1000, 10 * slots))
            seconds = [self._expected(job) for job in self._waiting]
            self._plan, self._planned = deque(len(task) for task in pack(seconds, limits)), time.monotonic()
        return self._plan.popleft()

    def _expected(self, job: ResolvedJob) -> float:
        return self._durations.expected_of(self._kind(job), job.config["episodes"])

    def _kind(self, job: ResolvedJob) -> str:
        # Of work that is never measured, such as a training, no kind is asked for.
        if job.cell not in self._kinds:
            self._kinds[job.cell] = kind_of(job)
        return self._kinds[job.cell]
