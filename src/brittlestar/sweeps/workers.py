"""The worker processes of a sweep."""

from __future__ import annotations

import functools
import importlib
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from multiprocessing.process import BaseProcess

    from brittlestar.cells.job import Job, Outcome

HINT = "BRITTLESTAR_FIRST_ENV"
"""Environment variable: the option of the group `env` that the first cells will likely use."""
LATER = (
    "brittlestar.reports.summary", "scipy.special", "pyarrow.parquet", "pyarrow.compute", "pyarrow.csv",
    "matplotlib.backends.backend_agg", "matplotlib.backends.backend_pdf",
)  # fmt: skip
"""What the tables and the plot need."""
OPTIONS = ("verbose", "timeout", "temp_folder", "max_nbytes", "mmap_mode")
"""Settings of the launcher that are passed on to joblib."""


def start(env: str | None = None) -> bool:
    """Starts the process that workers are forked from, which imports what cells need while this one goes on.

    It has one thread and nothing of this process, so to fork it is safe; and the imports are paid once, not once
    per worker. Where it cannot be had (Windows), joblib starts each worker on its own.

    Args:
        env: the option of the group `env` that the cells will likely use.

    Returns:
        Whether there is such a process.
    """
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return False
    from multiprocessing import forkserver

    if env:
        os.environ[HINT] = env
    forkserver.set_forkserver_preload(["brittlestar.sweeps.preload"])
    forkserver.ensure_running()
    return True


def run_on_workers(jobs: Sequence[Job], count: int, options: dict[str, Any]) -> Iterator[Outcome]:
    """Yields how each job ended, as they end."""
    from joblib import Parallel, delayed
    from joblib.externals.loky.backend import context

    if start():
        context.set_start_method("forkserver", force=True)
    # What the tables need takes a second to import: do it while the workers run.
    threading.Thread(target=_preload, daemon=True).start()
    yield from Parallel(
        n_jobs=count, backend="loky", batch_size=1, pre_dispatch="2*n_jobs", return_as="generator_unordered", **options
    )(delayed(_run)(job) for job in jobs)


def stop() -> None:
    """Tells the workers to end, and does not wait for it."""
    executor = getattr(sys.modules.get("joblib.externals.loky.reusable_executor"), "_executor", None)
    if executor is not None:
        executor.shutdown(wait=False)


def _run(job: Job) -> Outcome:
    from brittlestar.cells import run as cell

    _settle()
    return cell.run(job)


@functools.cache
def _settle() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        # Ctrl-C reaches every process of a terminal; the parent alone answers it and ends the workers.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        # A parent that was killed cannot: then a worker ends on its own.
        threading.Thread(target=_follow, args=(parent,), daemon=True).start()


def _follow(parent: BaseProcess) -> None:
    parent.join()
    os._exit(1)


def _preload() -> None:
    for name in LATER:
        importlib.import_module(name)
