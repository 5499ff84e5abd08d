"""The worker processes of a sweep. One that dies or hangs costs its cell only."""

from __future__ import annotations

import atexit
import contextlib
import math
import multiprocessing
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from typing import TYPE_CHECKING, Any, NamedTuple

from brittlestar.sweeps.causes_of_death import cause_of_death, count_oom_kills
from brittlestar.sweeps.fork_server import start_fork_server, whole_start
from brittlestar.sweeps.worker_output import OutputEnd, open_worker_output
from brittlestar.sweeps.worker_process import LastResult, Stopped, serve_tasks

if TYPE_CHECKING:
    from multiprocessing.process import BaseProcess

    from brittlestar.cells.job import Job, Outcome

_GRACE_SECONDS = 8.0
_LONGEST_WAIT = 86_400.0
"""The system cannot wait for a month."""
_pool: Pool | None = None


class Death(NamedTuple):
    """How a worker ended in the middle of a task."""

    reason: str
    is_final: bool = False
    """Whether there is no use in a second try."""


class Worker:
    """A process that runs one task after the other.

    A fresh one has nothing of the engine imported. Python ends a daemon at its own end, and waits for any other one; a
    daemon cannot start processes. With `output`, it prints there.
    """

    def __init__(self, fresh: bool = False, daemon: bool = False, output: OutputEnd | None = None) -> None:
        self.process, self.pipe = _start_process(fresh, daemon, output)
        self.task: Any = None
        self.started = 0.0
        self.is_spent = False
        """Whether it should get no other task."""
        self._oom_kills = 0

    def give(self, function: Callable[[Any], Any], task: Any) -> None:
        """Sends a task to the worker."""
        self.task, self.started = task, time.monotonic()
        self._oom_kills = count_oom_kills()
        with contextlib.suppress(OSError):
            # A worker that died meanwhile is found by its end.
            self.pipe.send((function, task))

    def result(self) -> Any:
        """Returns the result of the task, or a `Death`."""
        with contextlib.suppress(EOFError, OSError):
            result = self.pipe.recv()
            self.is_spent = isinstance(result, LastResult)
            return result.result if isinstance(result, LastResult) else result
        self.process.join()
        return Death(cause_of_death(self.process.exitcode, count_oom_kills() > self._oom_kills))

    def end(self) -> None:
        """Ends the process now, or after a moment in which it removes what it has half written."""
        end_workers([self])


def _start_process(
    fresh: bool, daemon: bool, output: OutputEnd | None, tries: int = 2
) -> tuple[BaseProcess, Connection]:
    context: Any = multiprocessing.get_context("forkserver" if not fresh and start_fork_server() else "spawn")
    pipe, other = context.Pipe()
    process = context.Process(target=serve_tasks, args=(other, output), daemon=daemon)
    try:
        with whole_start():
            process.start()
    except (OSError, EOFError):
        # The process that workers are forked from may be killed at this moment. The next start begins with a new one,
        # and has a pipe of its own: a fork that was left behind may still read from this one.
        pipe.close()
        if tries == 1:
            raise
        return _start_process(fresh, daemon, output, tries - 1)
    finally:
        other.close()
    return process, pipe


def end_workers(workers: Sequence[Worker]) -> None:
    """Ends workers, all in the time that one may take: a busy disk can keep a process for seconds."""
    for worker in workers:
        worker.process.terminate()
    last = time.monotonic() + _GRACE_SECONDS
    for worker in workers:
        worker.process.join(max(0.0, last - time.monotonic()))
        if worker.process.is_alive():
            worker.process.kill()
            worker.process.join()
        worker.pipe.close()


class Pool:
    """Workers that remain between sweeps."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.workers: list[Worker] = []
        self._output = open_worker_output()

    def run(self, function: Callable[[Any], Any], tasks: Sequence[Any], minutes: float | None = None) -> Iterator[Any]:
        """Yields pairs of a task and its result as tasks end; the result of a task without one is a `Death`.

        A task whose worker died runs once more, alone, when the others have ended: another task may have taken the
        memory of the machine.
        """
        suspects = list[Any]()
        for task, result in self._run(function, deque(tasks), self.count, minutes):
            if isinstance(result, Death) and not result.is_final:
                suspects.append(task)
            else:
                yield task, result
        for task in suspects:
            yield from self._run(function, deque([task]), 1, minutes)

    def _run(self, function: Callable, tasks: deque, count: int, minutes: float | None) -> Iterator[Any]:
        try:
            while tasks or self.busy:
                self._give(function, tasks, count)
                for worker in self._ended(minutes):
                    task, worker.task = worker.task, None
                    late = Death(f"it ran for longer than `timeout_minutes={minutes:g}`" if minutes else "", True)
                    result = worker.result() if worker.pipe.poll() else late
                    if isinstance(result, Death) or worker.is_spent:
                        self._remove([worker])
                    yield task, result
        finally:
            # An error of the caller leaves tasks behind.
            self._remove(self.busy)

    def _remove(self, workers: list[Worker]) -> None:
        end_workers(workers)
        self.workers = [worker for worker in self.workers if worker not in workers]

    @property
    def busy(self) -> list[Worker]:
        """The workers that have a task."""
        return [worker for worker in self.workers if worker.task is not None]

    def _give(self, function: Callable, tasks: deque, count: int) -> None:
        while tasks and len(self.busy) < count:
            idle = next((worker for worker in self.workers if worker.task is None), None)
            if idle is None:
                idle = Worker(output=None if self._output is None else self._output.end)
                self.workers.append(idle)
            idle.give(function, tasks.popleft())

    def _ended(self, minutes: float | None) -> list[Worker]:
        """Waits for results, deaths or timeouts."""
        busy, now = self.busy, time.monotonic()
        last = -math.inf if minutes is None else now - 60 * minutes
        left = None if minutes is None else max(0.0, min(worker.started for worker in busy) - last)
        wait([worker.pipe for worker in busy], None if left is None else min(left, _LONGEST_WAIT))
        last += time.monotonic() - now
        return [worker for worker in busy if worker.pipe.poll() or worker.started <= last]

    def end(self) -> None:
        """Ends all workers."""
        self._remove(self.workers)
        if self._output is not None:
            self._output.close()


def pool(count: int) -> Pool:
    """Returns the workers of this process, as many as asked for."""
    global _pool
    if _pool is None or _pool.count != count:
        stop()
        _pool = Pool(count)
    return _pool


def run_on_workers(jobs: Sequence[Job], count: int, timeout_minutes: float | None = None) -> Iterator[Outcome]:
    """Yields the outcomes of jobs as they end; a worker that dies or hangs gives a failed one."""
    from brittlestar.cells.job import Outcome

    for job, result in pool(count).run(_run, jobs, timeout_minutes):
        if isinstance(result, Death):
            result = Outcome("failed", job.number, job.cell, error=result.reason)
        yield result


def busy_tasks() -> list[tuple[str, float]]:
    """Returns the cells that workers compute now, by their overrides, and the seconds since each started."""
    workers = [] if _pool is None else _pool.busy
    now = time.monotonic()
    return [(" ".join(getattr(worker.task, "overrides", ())), now - worker.started) for worker in workers]


def stop() -> None:
    """Ends the workers, if there are any."""
    global _pool
    if _pool is not None:
        _pool.end()
        _pool = None


atexit.register(stop)


def _run(job: Job) -> Outcome | LastResult:
    from brittlestar.cells import run as cell
    from brittlestar.cells.process_state import is_altered

    try:
        outcome = cell.run(job)
    except Stopped:
        raise
    except KeyboardInterrupt as error:
        # No signal raises it in a worker, so the code of a policy or an environment did.
        outcome = cell.fail(job, getattr(job, "cell", ""), error)
    return LastResult(outcome) if is_altered() else outcome
