"""Calls of a command that leave their work to a cluster: each runs until it needs a result, and again when it is there.

A call, such as a training or a hardening, reads finished work from disk. So the driver can run it several times: what
it needs is collected from all calls, the cluster does it at once, and the driver writes it where a call finds it.
"""

from __future__ import annotations

import contextlib
import functools
import io
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from hydra.core.utils import JobReturn, run_job, setup_globals

from brittlestar.cells.job import Outcome
from brittlestar.sweeps.compose import compose_call
from brittlestar.sweeps.progress import Progress

ClusterExecutor = Callable[[Sequence[Any], Progress], Iterator[Outcome]]
"""Runs jobs on a cluster, and yields an outcome for each as it ends, in any order."""
_deferral: ContextVar[Deferral | None] = ContextVar("deferral", default=None)


class Deferred(BaseException):
    """Ends a call that needs work which a cluster has not done yet; code that catches `Exception` does not catch it."""


class Deferral:
    """What the calls of one command need from a cluster, and how it ended."""

    def __init__(self) -> None:
        self.call = ""
        """The overrides of the call that runs now."""
        self.wanted: dict[str, Any] = {}
        """Jobs that the cluster has to run, by what identifies them: their attribute `cell`."""
        self.outcomes: dict[str, Outcome] = {}

    def need(self, jobs: Sequence[Any]) -> list[Outcome]:
        """Returns the outcomes of jobs; ends the call by `Deferred` if the cluster has not run all of them."""
        missing = {job.cell: job for job in jobs if job.cell not in self.outcomes}
        self.wanted = missing | self.wanted
        if missing:
            raise Deferred
        return [self.outcomes[job.cell] for job in jobs]

    def has_done(self, cell: str) -> bool:
        """Returns whether the cluster has done a job in this command, and not found it done."""
        return cell in self.outcomes and self.outcomes[cell].status == "done"

    def attempt(self, call: Callable[[], JobReturn]) -> JobReturn | None:
        """Runs a call; returns None if it needs work of the cluster. What it prints appears only when it ends."""
        streams, token = (io.StringIO(), io.StringIO()), _deferral.set(self)
        try:
            with contextlib.redirect_stdout(streams[0]), contextlib.redirect_stderr(streams[1]):
                result = call()
        except Deferred:
            return None
        finally:
            _deferral.reset(token)
        for stream, buffer in zip((sys.stderr, sys.stdout), reversed(streams), strict=True):
            stream.write(buffer.getvalue())
            stream.flush()
        return result

    def run_wanted(self, executors: Mapping[type, ClusterExecutor]) -> None:
        """Has executors run the jobs that calls need, one kind after the other."""
        for kind, executor in executors.items():
            jobs = [job for job in self.wanted.values() if isinstance(job, kind)]
            if jobs:
                with Progress(len(jobs), noun=getattr(kind, "noun", "cells")) as progress:
                    for outcome in executor(jobs, progress):
                        self.outcomes[outcome.cell] = outcome
                        progress.add(outcome.status, outcome.episodes, outcome.seconds)
                        if outcome.status == "failed":
                            progress.show_failure(_name(self.wanted[outcome.cell]), outcome.error)
        self.wanted.clear()


def _name(job: Any) -> str:
    """Names a cell, or a training, by its overrides."""
    return " ".join(job.overrides) if hasattr(job, "overrides") else getattr(job, "name", job.cell)


def current_deferral() -> Deferral | None:
    """Returns the deferral of the call that runs now; None where all work is done on this machine."""
    return _deferral.get()


def executor_or(local: ClusterExecutor) -> ClusterExecutor:
    """Returns an executor of cells: `local`, or one that leaves them to the cluster of the call that runs now."""
    deferral = current_deferral()
    return local if deferral is None else lambda jobs, progress: iter(deferral.need(jobs))


def launch_deferred(
    launcher: Any, job_overrides: Sequence[Sequence[str]], first: int, executors: Mapping[type, ClusterExecutor]
) -> list[JobReturn]:
    """Runs the calls of a command until each has ended, and has executors run the jobs that they need, by kind."""
    setup_globals()
    Path(str(launcher.config.hydra.sweep.dir)).mkdir(parents=True, exist_ok=True)
    deferral, returns = Deferral(), dict[int, JobReturn]()
    waiting = dict(enumerate(job_overrides, first))
    while waiting:
        for number, overrides in list(waiting.items()):
            deferral.call = " ".join(overrides)
            result = deferral.attempt(functools.partial(_run, launcher, overrides, number))
            if result is not None:
                returns[number] = result
                del waiting[number]
        deferral.run_wanted(executors)
    return [returns[number] for number in sorted(returns)]


def _run(launcher: Any, overrides: Sequence[str], number: int) -> JobReturn:
    config = compose_call(launcher, overrides, number)
    return run_job(launcher.task_function, config, "hydra.sweep.dir", "hydra.sweep.subdir", launcher.hydra_context)
