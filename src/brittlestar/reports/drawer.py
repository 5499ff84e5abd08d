"""A process of its own for pictures: it imports Matplotlib while cells run, and draws while tables are written."""

from __future__ import annotations

import atexit
import contextlib
import importlib
import os
from collections.abc import Callable
from typing import Any

from brittlestar.sweeps.fork_server import has_fork_server
from brittlestar.sweeps.workers import Death, Worker

_MODULES = ("brittlestar.reports.pictures", "matplotlib.backends.backend_agg", "matplotlib.backends.backend_pdf")
_PATIENCE_SECONDS = 600.0
"""After so long the pictures are drawn in this process."""
_drawer: Worker | None = None


def start_drawer() -> None:
    """Starts the process; a fresh one if this command has not started the one that workers are forked from.

    Such a server has a socket among the temporary files, which the driver of a cluster would leave when it is killed.
    """
    global _drawer
    if _drawer is None:
        # A program that ends while another thread is here would wait for a process that nothing ends.
        drawer = Worker(fresh=not has_fork_server(), daemon=True)
        drawer.give(_import, None)
        # Another thread may draw from now on.
        _drawer = drawer


def draw_apart(function: Callable[..., Any], *arguments: Any) -> Callable[[], Any]:
    """Runs a function in the process while this one goes on, and returns a function that waits for the result.

    Without the process, or if it fails there, the function runs in this one when the result is asked for.
    """
    drawer = _drawer
    if drawer is not None and drawer.task is not None:
        # An error came before its last result was taken; that result would pass for that of this call.
        end_drawer()
        drawer = None
    if drawer is not None:
        drawer.give(_call, (function, arguments))

    def result() -> Any:
        drawn = [] if drawer is None else _take(drawer)
        return drawn[0] if drawn else function(*arguments)

    return result


def _take(drawer: Worker) -> list[Any]:
    """Returns the last result of the process, in a list, and ends it; an empty list if there is none."""
    result: Any = []
    # The first result is that of the import.
    for _ in range(2):
        if not drawer.pipe.poll(_PATIENCE_SECONDS):
            result = []
            break
        result = drawer.result()
    end_drawer()
    return [] if isinstance(result, Death) else result


def end_drawer() -> None:
    """Ends the process, if there is one."""
    global _drawer
    if _drawer is not None:
        drawer, _drawer = _drawer, None
        drawer.end()


atexit.register(end_drawer)


def _import(_: None) -> None:
    # An error here only costs time: what needs a module imports it again.
    with contextlib.suppress(Exception):
        # Cells come first.
        os.nice(10)
        for name in _MODULES:
            importlib.import_module(name)


def _call(task: tuple[Callable[..., Any], tuple[Any, ...]]) -> list[Any]:
    function, arguments = task
    # The other process calls the function again, and raises its error.
    with contextlib.suppress(Exception):
        return [function(*arguments)]
    return []
