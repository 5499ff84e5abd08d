"""The worker processes of a sweep."""

from __future__ import annotations

import functools
import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from multiprocessing.process import BaseProcess

    from brittlestar.cells.job import Job, Outcome

FIRST_ENV = "BRITTLESTAR_FIRST_ENV"
"""Environment variable: the option of the group `env` that the first cells will likely use."""
OPTIONS = ("verbose", "timeout", "temp_folder", "max_nbytes", "mmap_mode")
"""Settings of the launcher that are passed on to joblib."""
_started = False


def start(env: str | None = None) -> bool:
    """Starts the process that workers are forked from, and returns whether the system has such a process.

    It has one thread and nothing of this process, so a fork of it is safe. It imports what cells need, once for all
    workers; `env` is the option that they will likely use. On Windows, joblib starts each worker on its own.
    """
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return False
    from multiprocessing import forkserver

    if env:
        os.environ[FIRST_ENV] = env
    forkserver.set_forkserver_preload(["brittlestar.sweeps.preload"])
    forkserver.ensure_running()
    return True


def run_on_workers(jobs: Sequence[Job], count: int, options: dict[str, Any]) -> Iterator[Outcome]:
    """Yields the outcomes of jobs as they end."""
    global _started
    from joblib import Parallel, delayed
    from joblib.externals.loky.backend import context

    if start():
        context.set_start_method("forkserver", force=True)
    _started = count > 1
    yield from Parallel(
        n_jobs=count, backend="loky", batch_size=1, pre_dispatch="2*n_jobs", return_as="generator_unordered", **options
    )(delayed(_run)(job) for job in jobs)


def stop(wait: bool = False) -> None:
    """Ends the workers, if there are any; waits for their end if asked."""
    global _started
    if _started:
        from joblib.externals.loky import get_reusable_executor

        get_reusable_executor(reuse=True).shutdown(wait=wait)
        _started = False


def _run(job: Job) -> Outcome:
    from brittlestar.cells import run as cell

    _prepare_worker()
    return cell.run(job)


@functools.cache
def _prepare_worker() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        # Ctrl-C reaches every process of a terminal. Only the parent answers it, and ends the workers.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        # A parent that was killed cannot end its workers: they end by themselves.
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: BaseProcess) -> None:
    parent.join()
    os._exit(1)
