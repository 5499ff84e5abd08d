"""The process that workers are forked from."""

import atexit
import contextlib
import functools
import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator

FIRST_ENV = "BRITTLESTAR_FIRST_ENV"
"""Environment variable: the option of the group `env` that the first cells will likely use."""
_starting = threading.Lock()
_START_SECONDS = 5.0
_is_started = False


def has_fork_server() -> bool:
    """Whether this process has started the process that workers are forked from."""
    return _is_started


def start_fork_server(env: str | None = None) -> bool:
    """Starts the process that workers are forked from, and returns whether the system has such a process.

    It has one thread and nothing of this process, so a fork of it is safe. It imports what cells need, once for all
    workers; `env` is the option that they will likely use. Without it, as on Windows, each worker starts on its own.
    """
    global _is_started
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return False
    from multiprocessing import forkserver, resource_tracker

    if env:
        os.environ[FIRST_ENV] = env
    forkserver.set_forkserver_preload(["brittlestar.sweeps.preload"])
    # It unblocks signals when it starts, so it starts first.
    resource_tracker.ensure_running()
    try:
        with without_interrupts():
            forkserver.ensure_running()
    except OSError:
        # Its socket is in the folder of temporary files, whose name may be too long for a socket.
        return False
    _is_started = True
    return True


@contextlib.contextmanager
def whole_start() -> Iterator[None]:
    """Lets a process start whole, without Ctrl-C: one that this program leaves half started prints an error."""
    _wait_at_the_end()
    with _starting, without_interrupts():
        yield


@functools.cache
def _wait_at_the_end() -> None:
    """Has the end of the program wait for a start in another thread; after that none begins."""
    atexit.register(_starting.acquire, timeout=_START_SECONDS)


@contextlib.contextmanager
def without_interrupts() -> Iterator[None]:
    """Blocks Ctrl-C, which reaches every process of a terminal: a new process and its forks keep it blocked.

    This process gets it after the block. Windows has no such mask.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
