"""Ends a training early: after its next step, with a checkpoint."""

import signal
import sys
import threading
import time
from typing import Any, Self

from brittlestar.errors import Interrupted

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_ONE_REQUEST_SECONDS = 1.0
"""Signals within this time are one request: a terminal or a scheduler signals a process, and so does its parent."""


class StopRequest:
    """Notes Ctrl-C or SIGTERM in a `with` block; a second signal raises `Interrupted` at once."""

    def __init__(self) -> None:
        self.received = 0
        """The number of the signal; 0 for none."""
        self._since = 0.0
        self._handlers: list[Any] = []

    def __enter__(self) -> Self:
        # Python allows signal handlers in the main thread only.
        if threading.current_thread() is threading.main_thread():
            self._handlers = [signal.signal(number, self._receive) for number in _SIGNALS]
        return self

    def __exit__(self, *exception: object) -> None:
        for number, handler in zip(_SIGNALS, self._handlers, strict=False):
            signal.signal(number, handler)

    def _receive(self, number: int, frame: Any) -> None:
        if self.received:
            if time.monotonic() - self._since > _ONE_REQUEST_SECONDS:
                raise Interrupted(number)
            return
        self.received, self._since = number, time.monotonic()
        sys.stderr.write("\nstopping after a checkpoint; once more stops at once\n")
