"""A live line for long work in a terminal, and a line now and then elsewhere."""

from __future__ import annotations

import math
import statistics
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from typing import TextIO

REDRAW_SECONDS = 0.5
_SLOW_TIMES, _SLOW_SECONDS = 10, 30.0
"""A cell that runs so many times longer than the median, and at least so long, is named."""


def clock(seconds: float) -> str:
    """Writes a duration as minutes and seconds, with hours where there are some.

    Example:
        >>> clock(65), clock(3700)
        ('1:05', '1:01:40')
    """
    minutes, last = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{last:02}" if hours else f"{minutes}:{last:02}"


class LiveLine:
    """A line of text that is rewritten on a terminal, and written again every `log_seconds` to any other stream.

    The stream is by default the standard error. Without `live`, a terminal gets whole lines too, for several writers.
    """

    def __init__(self, stream: TextIO | None = None, log_seconds: float = math.inf, live: bool = True) -> None:
        self._stream = sys.stderr if stream is None else stream
        self.live = live and self._stream.isatty()
        self.seconds = REDRAW_SECONDS if self.live else log_seconds
        self._last = -math.inf if self.live else time.monotonic()

    @property
    def is_due(self) -> bool:
        """Whether the interval since the last line is over."""
        return time.monotonic() - self._last >= self.seconds

    def draw(self, text: str) -> None:
        """Writes a line in place of the last one."""
        self._last = time.monotonic()
        self._stream.write(f"\r\x1b[2K{text}" if self.live else f"{text}\n")
        self._stream.flush()

    def note(self, text: str) -> None:
        """Writes a line that remains, above the live one."""
        self._stream.write(f"\r\x1b[2K{text}\n" if self.live else f"{text}\n")
        self._stream.flush()

    def close(self, clear: bool = False) -> None:
        """Ends the line on a terminal, or removes it."""
        self._stream.write(("\r\x1b[2K" if clear else "\n") if self.live else "")
        self._stream.flush()


class Progress:
    """Counts cells as they end; use it as a context manager.

    Example:
        >>> import io
        >>> with Progress(2, stream=io.StringIO()) as progress:
        ...     progress.add("done", episodes=10)
        ...     progress.add("cached", episodes=10)
        >>> progress.line().startswith("2/2 cells: 1 done, 0 failed, 1 cached, 0 running")
        True
    """

    def __init__(self, total: int, stream: TextIO | None = None, noun: str = "cells") -> None:
        self.total, self.running, self.episodes, self._noun = total, 0, 0, noun
        self._line = LiveLine(stream, log_seconds=30.0)
        self.tasks: Callable[[], list[tuple[str, float]]] = list
        """Returns what runs now, with seconds since its start, where that is known."""
        self._counts: Counter[str] = Counter()
        self._seconds: deque[float] = deque(maxlen=1000)
        self._started = time.monotonic()
        self._stop = threading.Event()
        self._ticker = threading.Thread(target=self._tick, daemon=True)

    def __enter__(self) -> Progress:
        self._ticker.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._stop.set()
        self._ticker.join()
        self._line.draw(self.line())
        self._line.close()

    def add(self, status: str, episodes: int, seconds: float = 0.0) -> None:
        """Counts one cell that ended as done, cached or failed."""
        self._counts[status] += 1
        if status == "done":
            self.episodes += episodes
            self._seconds.append(seconds)
        self.running = min(self.running, self.total - self._counts.total())

    def note(self, text: str) -> None:
        """Prints a line about the sweep that remains."""
        self.pass_on(f"brittlestar: {text}")

    def pass_on(self, line: str) -> None:
        """Prints a line that a process elsewhere has written."""
        self._line.note(line)

    def line(self) -> str:
        """Returns the state in one line."""
        ended, seconds = self._counts.total(), time.monotonic() - self._started
        counts = ", ".join(f"{self._counts[status]} {status}" for status in ("done", "failed", "cached"))
        text = f"{ended}/{self.total} {self._noun}: {counts}, {self.running} running"
        computed = self._counts["done"] + self._counts["failed"]
        if self.episodes:
            text += f", {self.episodes / seconds:.1f} episodes/s"
        if computed and ended < self.total:
            text += f", {clock((self.total - ended) * seconds / computed)} left"
        return text + self._slow()

    def _slow(self) -> str:
        """Returns a remark on the cell that runs far longer than those before it, if there is one."""
        usual = statistics.median(self._seconds) if self._seconds else math.inf
        name, seconds = max(self.tasks(), key=lambda task: task[1], default=("", 0.0))
        if seconds < max(_SLOW_TIMES * usual, _SLOW_SECONDS):
            return ""
        return f"; {seconds / usual:.0f} times longer than usual: {name} ({clock(seconds)}, see `timeout_minutes`)"

    def _tick(self) -> None:
        while not self._stop.wait(self._line.seconds):
            self._line.draw(self.line())
