"""Trainings in processes of their own, which end with the process that started them."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from brittlestar.errors import Interrupted

END_SECONDS = 14.0
"""Time for children to save a checkpoint; the parent itself has 20 s after a signal."""
WATCH_SECONDS = 1.0
"""Time between two looks at whether the parent lives."""


class Children:
    """Starts processes, from several threads, and ends those that run."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self.stopping = threading.Event()

    def run(self, command: Sequence[str], log: Path) -> int | None:
        """Runs a command to its end, with its output in a log; returns its exit code, None after `stop`."""
        with log.open("a") as file:
            # `stop` finds each process that was started, and none starts behind it.
            with self._lock:
                if self.stopping.is_set():
                    return None
                child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT)
                self._running.add(child)
            code = child.wait()
        with self._lock:
            self._running.discard(child)
        return None if self.stopping.is_set() else code

    def stop(self) -> None:
        """Terminates all, and kills those that have not ended after `END_SECONDS`."""
        self.stopping.set()
        with self._lock:
            running = list(self._running)
        for child in running:
            child.terminate()
        limit = time.monotonic() + END_SECONDS
        for child in running:
            try:
                child.wait(max(0.0, limit - time.monotonic()))
            except subprocess.TimeoutExpired:
                child.kill()


def end_with_parent() -> None:
    """Has Ctrl-C and SIGTERM raise `Interrupted` once, and ends this process as SIGTERM does when its parent dies."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)
    threading.Thread(target=_watch, args=[os.getppid()], daemon=True).start()


def _interrupt(number: int, frame: Any) -> None:
    # A terminal signals the child, and so does its parent.
    for other in (signal.SIGINT, signal.SIGTERM):
        signal.signal(other, signal.SIG_IGN)
    raise Interrupted(number)


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(WATCH_SECONDS)
    with contextlib.suppress(OSError):
        sys.stderr.write("the process that started this training has ended\n")
    os.kill(os.getpid(), signal.SIGTERM)
