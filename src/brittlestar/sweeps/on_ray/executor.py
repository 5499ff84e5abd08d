"""Runs jobs on a Ray cluster: sends tasks, has the results that come back written, and tries again."""

from __future__ import annotations

import contextlib
import json
import pickle
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brittlestar.errors import UserError
from brittlestar.sweeps.on_ray import gateway
from brittlestar.sweeps.on_ray.connection import RayConnection
from brittlestar.sweeps.on_ray.options import RayOptions
from brittlestar.sweeps.on_ray.shipped_code import stage_code
from brittlestar.sweeps.on_ray.shipped_files import Luggage, join, luggage_of
from brittlestar.sweeps.on_ray.task import FINISHED, NEWS, REFUSED, STARTED, Parcel, code_identity
from brittlestar.sweeps.on_ray.task_queue import TaskQueue
from brittlestar.sweeps.on_ray.work import CellWork, RayWork

if TYPE_CHECKING:
    from brittlestar.cells.job import Outcome, ResolvedJob
    from brittlestar.sweeps.progress import Progress

_POLL_SECONDS = 1.0


def run_on_ray(options: RayOptions, jobs: Sequence[ResolvedJob], progress: Progress) -> Iterator[Outcome]:
    """Computes cells on a Ray cluster and writes them to the store; an executor, once `options` are given."""
    return run_work(options, CellWork(options), jobs, progress)


def run_work(options: RayOptions, work: RayWork, jobs: Sequence[Any], progress: Progress) -> Iterator[Outcome]:
    """Has a Ray cluster do some kind of work, and yields the outcomes of the jobs."""
    address = None if options.is_local else options.address
    with contextlib.ExitStack() as stack:
        # Ray has taken what travels when it is connected: a sweep that is killed later leaves no copy behind.
        with tempfile.TemporaryDirectory(prefix="brittlestar-ray-") as folder:
            if options.ship_code:
                sources = join(_luggage(job) for job in jobs).sources
                stage_code(Path(folder), sources, options.extra_files)
            connection = RayConnection(address, options.for_gateway(folder), options.connect_seconds)
            cluster = stack.enter_context(connection)
        yield from RaySweep(cluster, options, work, jobs, progress).run()


@dataclass
class SentTask:
    """A task that was sent to the cluster, with its jobs that have no outcome yet."""

    jobs: dict[str, Any]
    has_started: bool = False


class RaySweep:
    """The tasks of one sweep on a cluster."""

    def __init__(
        self, cluster: RayConnection, options: RayOptions, work: RayWork, jobs: Sequence[Any], progress: Progress
    ) -> None:
        self._cluster, self._options, self._work, self._progress = cluster, options, work, progress
        self._queue = TaskQueue(jobs, options.minutes_per_task, work.cores, options.retries)
        self._tasks: dict[int, SentTask] = {}
        self._files: set[str] = set()
        self._code = code_identity(work.packages)
        self.sent = 0
        """Tasks that were sent so far."""
        self._lost_starts = 0

    def run(self) -> Iterator[Outcome]:
        """Yields outcomes as they come in."""
        self._check_slots()
        while self._queue or self._tasks:
            self._send_tasks()
            message = self._cluster.receive(_POLL_SECONDS)
            if message is not None and message[0] == gateway.ITEM:
                yield from self._item(*message[1:])
            elif message is not None and message[0] == gateway.ENDED:
                yield from self._ended(*message[1:])
            started = [task for task in self._tasks.values() if task.has_started]
            self._progress.running = sum(min(self._work.cores, len(task.jobs)) for task in started)

    def _check_slots(self) -> None:
        if self._cluster.slots == 0:
            needs = ", ".join(f"{name}={value:g}" for name, value in self._options.needs().items() if value)
            if self._options.is_local:
                raise UserError(f"this machine cannot run a task that needs {needs}")
            sys.stderr.write(f"brittlestar: no node of the cluster has {needs}; the sweep waits for one\n")

    def _send_tasks(self) -> None:
        slots = max(1, self._cluster.slots)
        # Until a cell was measured, each core gets one cell. Later, a task waits for every task that runs.
        most = self._options.max_in_flight or (2 * slots if self._queue.is_measured else slots)
        while self._queue and len(self._tasks) < most:
            self._send(self._queue.take(slots))

    def _send(self, jobs: list[Any]) -> None:
        luggage, prepared = join(_luggage(job) for job in jobs), [self._work.prepare(job) for job in jobs]
        files = luggage.files | {path: digest for _, own in prepared for path, digest in own.items()}
        for path, digest in files.items():
            if digest not in self._files:
                self._files.add(digest)
                self._cluster.send(gateway.FILE, digest, path)
        minutes, sent = jobs[0].config.get("timeout_minutes"), [job for job, _ in prepared]
        parcel = Parcel(sent, self._work.run, self._work.cores, minutes, luggage.places, self._code, sys.argv)
        self._tasks[self.sent] = SentTask({job.cell: job for job in jobs})
        self._cluster.send(gateway.TASK, self.sent, pickle.dumps(parcel), files)
        self.sent += 1

    def _item(self, number: int, item: bytes) -> Iterator[Outcome]:
        kind, content = pickle.loads(item)
        task = self._tasks[number]
        if kind == REFUSED:
            raise UserError(content)
        if kind == STARTED:
            task.has_started, self._lost_starts = True, 0
        elif kind == NEWS:
            (job,) = task.jobs.values()
            self._work.hear(job, content)
        elif kind == FINISHED:
            outcome, result = content
            job = task.jobs.pop(outcome.cell)
            self._queue.add_finished(job, outcome)
            yield self._work.finish(job, outcome, result)

    def _ended(self, number: int, kind: str, reason: str) -> Iterator[Outcome]:
        """Takes back the jobs of a task that did not finish all of them."""
        task = self._tasks.pop(number)
        left = list(task.jobs.values())
        if task.has_started:
            yield from self._queue.put_back(left, reason or "it gave no result")
            return
        self._queue.put_back_unstarted(left)
        self._lost_starts += 1
        if kind == gateway.BROKEN:
            raise UserError(f"a node of the cluster cannot run {self._work.noun}: {reason}")
        # A node that is lost may take one task of each core with it.
        if self._lost_starts > self._options.retries + self._cluster.slots:
            raise UserError(f"Ray could not start {self._lost_starts} tasks one after the other: {reason}")


def _luggage(job: Any) -> Luggage:
    groups = (value for value in job.config.values() if isinstance(value, Mapping))
    return join(luggage_of(json.dumps(group)) for group in groups)
