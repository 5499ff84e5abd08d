"""The worker processes of a sweep: started while the sweep is still composed, ended without waiting."""

from __future__ import annotations

import gc
import importlib
import multiprocessing
import signal
import sys
import threading
from collections.abc import Iterator
from typing import Any

from brittlestar import cell

OPTIONS: dict[str, Any] = {"verbose": 0, "timeout": None, "temp_folder": None, "max_nbytes": None, "mmap_mode": "r"}
"""What the launcher passes to joblib if nobody says otherwise."""
_starting: list[threading.Thread] = []


def start(count: int) -> None:
    """Starts workers in the background; they import what cells need while this process goes on."""
    if count < 2:
        return
    import joblib  # noqa: F401  (here: in the thread it would share the interpreter with all that follows)

    _starting.append(threading.Thread(target=_start, args=(count,), daemon=True))
    _starting[-1].start()


def _start(count: int) -> None:
    from joblib import Parallel, delayed

    Parallel(n_jobs=count, backend="loky", batch_size=1, **OPTIONS)(delayed(_prepare)() for _ in range(count))


def compute(jobs: list[cell.Job], count: int, options: dict[str, Any]) -> Iterator[cell.Outcome]:
    """Yields how each job ended, as they end."""
    from joblib import Parallel, delayed

    while _starting:
        _starting.pop().join()
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


def _prepare() -> None:
    _leave_interrupts()
    # The collector would search every module again and again while they are imported.
    gc.set_threshold(100_000)
    importlib.import_module("brittlestar.rollout")


def _run(job: cell.Job) -> cell.Outcome:
    _leave_interrupts()
    return cell.run(job)


def _leave_interrupts() -> None:
    # Ctrl-C reaches every process of a terminal; the parent alone answers it and ends the workers.
    if multiprocessing.parent_process() is not None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _preload() -> None:
    for name in ("brittlestar.report", "scipy.special", "pyarrow.parquet", "matplotlib.backends.backend_pdf"):
        importlib.import_module(name)
