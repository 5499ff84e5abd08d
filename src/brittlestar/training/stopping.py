"""How a training ends early: after its next step, with all of it saved."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from brittlestar.training.session import Session


class StoppedError(KeyboardInterrupt):
    """A training that was interrupted has saved, after so many steps."""

    def __init__(self, steps: int) -> None:
        super().__init__(f"stopped after {steps} steps")
        self.steps = steps


@contextlib.contextmanager
def stoppable(session: Session) -> Iterator[None]:
    """Lets Ctrl-C, or a cluster that wants its node back, end a training after its next step; twice ends it at once."""

    def stop(number: int, frame: Any) -> None:
        if session.asked_to_stop:
            raise KeyboardInterrupt
        session.asked_to_stop = True
        sys.stderr.write("\nstopping after a checkpoint; once more stops at once\n")

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, stop) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
