"""What a worker process does: it runs tasks until its parent ends it, or ends itself."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from brittlestar.sweeps.memory import trim_memory

if TYPE_CHECKING:
    from multiprocessing.process import BaseProcess

    from brittlestar.sweeps.worker_output import OutputEnd

_TRIM_SECONDS = 5.0
_PREFERENCE = 300
"""A worker counts as larger by so many thousandths of all memory, when the kernel selects what to end."""
_MOST_PREFERRED = 1000
_is_stopped = False
"""Whether this process is a worker that is to end."""


class LastResult(NamedTuple):
    """A result of a worker whose process other cells should not have."""

    result: Any


class Stopped(KeyboardInterrupt):
    """Raised in a worker that is to end; code of a policy that catches `Exception` does not catch it."""


def serve_tasks(pipe: Connection, output: OutputEnd | None = None) -> None:
    """Runs tasks until the parent closes the pipe or ends."""
    trimmed, process = time.monotonic(), os.getpid()
    try:
        # From its first line on, a signal may raise `Stopped`.
        _prepare_worker()
        if output is not None:
            output.take()
        while not _is_stopped:
            function, task = pipe.recv()
            result = function(task)
            if os.getpid() != process:
                # A copy of the worker, by `os.fork` in a policy: its result would pass for that of another task.
                os._exit(0)
            pipe.send(result)
            if time.monotonic() - trimmed > _TRIM_SECONDS:
                trim_memory()
                trimmed = time.monotonic()
    except (EOFError, OSError, Stopped):
        pass
    except Exception:
        # Python may wrap `Stopped`: as a RuntimeError where a class is being defined.
        if not _is_stopped:
            raise
    if _is_stopped:
        # Another program may have sent the signal: then it is the reason why the cell has no result.
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTERM)
    # Not by the way of a program's end: code of a policy may have left threads that never end.
    os._exit(0)


def _prepare_worker() -> None:
    # Ctrl-C reaches every process of a terminal. Only the parent answers it, and ends the workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _stop)
    sys.unraisablehook = _unraisable_hook
    _prefer_for_oom_kills()
    parent = multiprocessing.parent_process()
    if parent is not None:
        # A parent that was killed cannot end its workers: they end by themselves.
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _prefer_for_oom_kills() -> None:
    """Has the kernel end a worker before the driver where memory runs out: that costs a cell, not the sweep."""
    with contextlib.suppress(OSError, ValueError):
        score = Path("/proc/self/oom_score_adj")
        score.write_text(str(min(_MOST_PREFERRED, int(score.read_text()) + _PREFERENCE)))


def _stop(number: int, frame: Any) -> None:
    global _is_stopped
    _is_stopped = True
    # A second signal would raise in the code that answers the first one.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise Stopped


def _unraisable_hook(arguments: Any) -> None:
    # Python ignores exceptions in destructors, also this one: the worker ends with its task.
    if not isinstance(arguments.exc_value, Stopped):
        sys.__unraisablehook__(arguments)


def _end_with(parent: BaseProcess) -> None:
    parent.join()
    os._exit(1)
