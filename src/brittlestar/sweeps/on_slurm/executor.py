"""Runs the cells of a sweep as Slurm jobs: submits tasks, follows their logs, and submits again what was lost.

The logs of the tasks and the store decide which cells are finished. Slurm only says which tasks are still in the queue:
its exit states appear in messages, and never decide about a result.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from brittlestar.cells.job import Outcome
from brittlestar.errors import UserError, counted
from brittlestar.sweeps.on_slurm.job_options import SlurmOptions, submit
from brittlestar.sweeps.on_slurm.measuring import measured_outcomes
from brittlestar.sweeps.on_slurm.slurm_commands import cancel, require_slurm
from brittlestar.sweeps.on_slurm.submission import find_submissions, write_submission
from brittlestar.sweeps.on_slurm.task_follower import FollowedTask, TaskFollower
from brittlestar.sweeps.packing import Durations, TaskLimits, kind_of, pack
from brittlestar.sweeps.screen import is_screen

if TYPE_CHECKING:
    from brittlestar.sweeps.on_slurm.submission import Submission
    from brittlestar.sweeps.on_slurm.work import Work
    from brittlestar.sweeps.progress import Progress

_READ_SECONDS, _SUBMIT_AGAIN_SECONDS, _EXIT_SECONDS = 0.5, 60.0, 10.0
_ALONE_AFTER = 2
"""A cell that was lost so often gets a task of its own: then the end of the task says something about the cell."""


def run_on_slurm(options: SlurmOptions, work: Work, jobs: Sequence[Any], progress: Progress) -> Iterator[Outcome]:
    """Runs cells or calls in Slurm jobs; an executor, once options and kind of work are given."""
    require_slurm()
    return SlurmSweep(options, work, jobs, progress).outcomes()


class SlurmSweep:
    """The cells of a sweep that have no outcome yet, and the tasks that compute them.

    A call of another command, such as a training, counts as a cell here.
    """

    def __init__(self, options: SlurmOptions, work: Work, jobs: Sequence[Any], progress: Progress) -> None:
        self._options, self._work, self._progress = options, work, progress
        self._jobs = {job.cell: job for job in jobs}
        self._store = str(jobs[0].config["store"])
        # Cells that no task has. The keys of a dict keep their order.
        self._waiting = dict.fromkeys(self._jobs)
        self._follower = TaskFollower(options.poll_seconds)
        self._losses: Counter[str] = Counter()
        self._durations = Durations()
        self._next_submit = 0.0
        self._failed_tasks: set[str] = set()
        self._noted: set[str] = set()

    def outcomes(self) -> Iterator[Outcome]:
        """Yields outcomes as cells end."""
        try:
            yield from self._adopt()
            yield from self._measure()
            self._submit()
            if self._jobs and not self._options.wait:
                self._leave()
            while self._jobs:
                time.sleep(max(_READ_SECONDS, 0.002 * len(self._follower.tasks)))
                yield from self._look()
                self._submit()
        except BaseException as error:
            self._stop(error)
            raise
        self._close()

    def _adopt(self) -> Iterator[Outcome]:
        """Takes over the tasks of earlier submissions that have cells of this sweep, and yields their outcomes."""
        for submission in find_submissions(self._store):
            numbers = [n for n, cells in enumerate(submission.cells) if not self._jobs.keys().isdisjoint(cells)]
            if numbers:
                self._follower.follow(submission, numbers)
                self._losses |= Counter(submission.losses)
        for task in self._follower.tasks:
            for cell in task.cells:
                self._waiting.pop(cell, None)
        outcomes, ended = self._follower.look()
        for outcome in outcomes:
            # The same command computes a failed cell again, as on this machine. Without waiting it would never end.
            if outcome.status == "failed" and self._options.wait and outcome.cell in self._jobs:
                self._waiting[outcome.cell] = None
            else:
                yield from self._end(outcome)
        for task in ended:
            yield from self._lose(task)

    def _measure(self) -> Iterator[Outcome]:
        """Computes some of the first cells on this machine, to know how long a cell takes."""
        jobs = [self._jobs[cell] for cell in self._waiting]
        if self._work.is_packed and len(jobs) > 1 and not self._durations.is_measured:
            self._progress.running = 1
            for outcome in measured_outcomes(jobs, self._durations, self._options.measure_seconds):
                yield from self._end(outcome)
            self._progress.running = 0

    def _submit(self) -> None:
        """Submits the cells that wait, in as many tasks as may be in the queue."""
        if not self._waiting or time.monotonic() < self._next_submit:
            return
        limits, in_queue = self._options.limits(), len(self._follower.tasks)
        if in_queue > limits.most_tasks // 2:
            return
        self._submit_tasks(self._packed(limits)[: limits.most_tasks - in_queue])

    def _packed(self, limits: TaskLimits) -> list[list[Any]]:
        jobs, alone = list[Any](), list[Any]()
        for cell in self._waiting:
            is_alone = self._losses[cell] >= _ALONE_AFTER or not self._work.is_packed
            (alone if is_alone else jobs).append(self._jobs[cell])
        seconds = [self._durations.expected_of(kind_of(job), job.config["episodes"]) for job in jobs]
        return [[jobs[i] for i in task] for task in pack(seconds, limits)] + [[job] for job in alone]

    def _submit_tasks(self, tasks: list[list[Any]]) -> None:
        try:
            submission = self._submitted(tasks)
        except UserError as error:
            if not self._follower.tasks:
                raise
            # With jobs in the queue this is most likely a limit on their number, a busy Slurm, or a full disk.
            self._note(f"{error}; tries again while {counted(len(self._follower.tasks), 'job')} run or wait")
            self._next_submit = time.monotonic() + _SUBMIT_AGAIN_SECONDS
            return
        self._follower.follow(submission, range(len(tasks)))
        for cell in (job.cell for task in tasks for job in task):
            del self._waiting[cell]

    def _submitted(self, tasks: list[list[Any]]) -> Submission:
        submission = write_submission(self._store, tasks, self._losses, self._work.run)
        try:
            submit(submission, self._options)
        except UserError:
            submission.close()
            raise
        return submission

    def _look(self) -> Iterator[Outcome]:
        """Yields the new outcomes of all tasks; the cells of a task that ended without them wait again, or fail."""
        outcomes, ended = self._follower.look()
        for outcome in outcomes:
            yield from self._end(outcome)
        for task in ended:
            yield from self._lose(task)
        self._progress.running = min(self._follower.running * self._options.cpus, len(self._jobs))
        for job, reason in self._follower.stuck.items():
            self._note(f"Slurm job {job} will not start by itself: {reason}")

    def _end(self, outcome: Outcome) -> Iterator[Outcome]:
        """Yields the outcome of a cell, unless the cell has one already or belongs to another sweep."""
        job = self._jobs.pop(outcome.cell, None)
        if job is None:
            return
        self._waiting.pop(outcome.cell, None)
        if outcome.status == "done" and self._work.is_packed:
            self._durations.add(kind_of(job), job.config["episodes"], outcome.seconds)
        yield outcome

    def _lose(self, task: FollowedTask) -> Iterator[Outcome]:
        """Puts the cells of a task that has ended without their outcomes back, or ends those that were lost too often.

        A task runs its cells in order, so the first ones without an outcome were running when it ended. One of them may
        be the cause; the others never started. A task that did not begin at all counts for all of its cells.
        """
        cells = [cell for cell in task.cells if cell in self._jobs and cell not in self._waiting]
        if cells:
            # An earlier driver may have submitted them again.
            elsewhere = {cell for other in self._follower.tasks for cell in other.cells}
            cells = [cell for cell in cells if cell not in elsewhere]
        suspects = cells[: self._options.cpus] if task.reader.has_begun else cells
        for cell in cells:
            job = self._jobs[cell]
            if self._work.is_stored(job):
                # It was killed between writing the cell and writing the log.
                yield from self._end(Outcome("done", job.number, cell, job.config["episodes"]))
                continue
            self._losses[cell] += cell in suspects
            if self._losses[cell] <= self._options.retries:
                self._waiting[cell] = None
                continue
            self._failed_tasks.add(task.submission.name)
            error = f"lost {counted(self._losses[cell], 'time')}: {task.end_message()}"
            yield from self._end(Outcome("failed", job.number, cell, error=error))

    def _note(self, text: str) -> None:
        if text not in self._noted:
            self._noted.add(text)
            self._progress.note(text)

    def _leave(self) -> NoReturn:
        """Ends the program while the jobs are in the queue."""
        self._progress.note(f"{self._state()}; the same command later collects the results or goes on")
        sys.exit()

    def _state(self) -> str:
        cells, jobs = counted(len(self._jobs), "cell"), counted(len(self._follower.tasks), "Slurm job")
        ids = list(dict.fromkeys(task.submission.array for task in self._follower.tasks))
        return f"{cells} in {jobs}: `squeue --jobs={','.join(ids)}` lists them, `scancel {' '.join(ids)}` cancels them"

    def _stop(self, error: BaseException) -> None:
        """Cancels the jobs if the user wants that, or prints how to find them."""
        if not self._follower.tasks or (isinstance(error, SystemExit) and not error.code):
            return
        self._progress.end_bar()
        if isinstance(error, KeyboardInterrupt) and _confirms(f"Cancel {self._state().partition(':')[0]}? [y/N] "):
            cancel(self._follower.submissions)
            for submission in self._follower.submissions.values():
                submission.close()
            self._progress.note("cancelled the jobs")
        else:
            self._progress.note(f"{self._state()}; they go on, and the same command collects their results")

    def _close(self) -> None:
        """Removes the folders of submissions whose jobs have all left the queue, except logs of lost cells."""
        busy = self._follower.wait_for_exit(_EXIT_SECONDS) if self._follower.submissions else set()
        for name, submission in self._follower.submissions.items():
            if name not in busy:
                submission.close(keep_logs=name in self._failed_tasks)


def _confirms(question: str) -> bool:
    """Asks the user on a terminal; no answer is no."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    sys.stderr.write(f"\r\x1b[2K{question}" if is_screen(sys.stderr) else question)
    sys.stderr.flush()
    try:
        return sys.stdin.readline().strip().lower() in ("y", "yes")
    except KeyboardInterrupt:
        return False
