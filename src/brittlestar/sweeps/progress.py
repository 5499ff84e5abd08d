"""A live line for long work in a terminal, and a few quiet lines elsewhere."""

from __future__ import annotations

import sys
import threading
import time
from collections import Counter
from typing import TextIO

_REDRAW_SECONDS = 0.5
_QUIET_SECONDS = 30.0


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

    def __init__(self, total: int, stream: TextIO | None = None) -> None:
        self.total, self.running, self.episodes = total, 0, 0
        self._stream = sys.stderr if stream is None else stream
        self._live = self._stream.isatty()
        self._counts: Counter[str] = Counter()
        self._started = time.monotonic()
        self._stop = threading.Event()
        self._ticker = threading.Thread(target=self._tick, daemon=True)

    def __enter__(self) -> Progress:
        self._ticker.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._stop.set()
        self._ticker.join()
        self._draw()
        self._stream.write("\n" if self._live else "")
        self._stream.flush()

    def add(self, status: str, episodes: int) -> None:
        """Counts one cell that ended as done, cached or failed."""
        self._counts[status] += 1
        if status == "done":
            self.episodes += episodes
        self.running = min(self.running, self.total - self._counts.total())

    def line(self) -> str:
        """Returns the state in one line."""
        ended, seconds = self._counts.total(), time.monotonic() - self._started
        counts = ", ".join(f"{self._counts[status]} {status}" for status in ("done", "failed", "cached"))
        text = f"{ended}/{self.total} cells: {counts}, {self.running} running"
        computed = self._counts["done"] + self._counts["failed"]
        if computed:
            text += f", {self.episodes / seconds:.1f} episodes/s"
        if computed and ended < self.total:
            text += f", {_clock((self.total - ended) * seconds / computed)} left"
        return text

    def _tick(self) -> None:
        while not self._stop.wait(_REDRAW_SECONDS if self._live else _QUIET_SECONDS):
            self._draw()

    def _draw(self) -> None:
        self._stream.write(f"\r\x1b[2K{self.line()}" if self._live else f"{self.line()}\n")
        self._stream.flush()


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
