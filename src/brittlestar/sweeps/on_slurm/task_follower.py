"""Follows tasks that are in the queue of Slurm: by their own logs, and by what the queue lists."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from brittlestar.sweeps.on_slurm.slurm_commands import end_state, queue

if TYPE_CHECKING:
    from brittlestar.cells.job import Outcome
    from brittlestar.sweeps.on_slurm.submission import Submission
    from brittlestar.sweeps.on_slurm.task_log import TaskLogReader

_HELD = ("held", "never satisfied", "invalid", "badconstraints", "timelimit", "nodelimit")
"""Parts of the reasons why a pending job will not start by itself."""


@dataclass
class FollowedTask:
    """A task that was in the queue when the driver looked last."""

    submission: Submission
    number: int
    reader: TaskLogReader

    @property
    def key(self) -> tuple[str, int]:
        """What identifies the task in the queue."""
        return self.submission.name, self.number

    @property
    def cells(self) -> list[str]:
        """The hashes of its cells, in the order in which it runs them."""
        return self.submission.cells[self.number]

    def end_message(self) -> str:
        """Returns how its job ended, for a cell that has no result."""
        state = end_state(self.submission.id_of(self.number))
        text = f"Slurm job {self.submission.id_of(self.number)} ended without a result"
        return f"{text} ({state}, see {self.submission.output(self.number)})".replace("(, see", "(see")


class TaskFollower:
    """The tasks of a sweep that are in the queue."""

    def __init__(self, poll_seconds: float) -> None:
        self.tasks: list[FollowedTask] = []
        self.submissions: dict[str, Submission] = {}
        self.running = 0
        """How many tasks were running at the last look at the queue."""
        self.stuck: dict[str, str] = {}
        """Why pending jobs will not start by themselves, by their ids."""
        self._poll_seconds, self._next_look = poll_seconds, 0.0

    def follow(self, submission: Submission, numbers: Iterable[int]) -> None:
        """Follows some tasks of a submission from now on."""
        self.submissions[submission.name] = submission
        self.tasks += [FollowedTask(submission, number, submission.reader(number)) for number in numbers]

    def look(self) -> tuple[list[Outcome], list[FollowedTask]]:
        """Returns the new outcomes of all tasks, and the tasks that have ended; these are no longer followed."""
        # The queue first: what a task wrote before it left the queue is then in its log.
        listed = self._listed()
        outcomes = [outcome for task in self.tasks for outcome in task.reader.new_outcomes()]
        ended = [
            task for task in self.tasks if task.reader.has_ended or (listed is not None and task.key not in listed)
        ]
        keys = {task.key for task in ended}
        self.tasks = [task for task in self.tasks if task.key not in keys]
        return outcomes, ended

    def wait_for_exit(self, seconds: float) -> set[str]:
        """Waits until no job of the sweep is in the queue; returns the names of submissions that still have one."""
        end = time.monotonic() + seconds
        while True:
            listed = queue(self.submissions)
            names = set(self.submissions) if listed is None else {name for name, _ in listed}
            if not names or time.monotonic() > end:
                return names
            time.sleep(0.3)

    def _listed(self) -> set[tuple[str, int]] | None:
        """Returns the keys of tasks in the queue; None between two looks, and if Slurm does not answer."""
        if not self.tasks or time.monotonic() < self._next_look:
            return None
        entries = queue({task.submission.name for task in self.tasks})
        self._next_look = time.monotonic() + self._poll_seconds
        if entries is None:
            return None
        self.running = sum(entry.state == "RUNNING" for entry in entries.values())
        pending = [entry for entry in entries.values() if entry.state == "PENDING"]
        self.stuck = {e.id: e.reason for e in pending if any(word in e.reason.lower() for word in _HELD)}
        return set(entries)
