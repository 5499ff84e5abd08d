"""A live line for long work in a terminal, and a line now and then elsewhere."""

from __future__ import annotations

import math
import statistics
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from typing import TYPE_CHECKING, TextIO

from brittlestar.errors import shortened
from brittlestar.sweeps.screen import cropped, is_screen, terminal_columns

if TYPE_CHECKING:
    from brittlestar.sweeps.live_bar import LiveBar
    from brittlestar.sweeps.running_curves import RunningCurves

REDRAW_SECONDS = 0.5
_SLOW_TIMES, _SLOW_SECONDS = 10, 30.0
"""A cell that runs so many times longer than the median, and at least so long, is named."""
_MOST_FAILURES, _LONGEST_FAILURE = 10, 200
"""Reasons of failed cells that a terminal shows at once, and their letters; the end of the sweep lists them all."""


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
        self.stream = sys.stderr if stream is None else stream
        self.live = live and is_screen(self.stream)
        self.seconds = REDRAW_SECONDS if self.live else log_seconds
        self._last = -math.inf if self.live else time.monotonic()

    @property
    def is_due(self) -> bool:
        """Whether the interval since the last line is over."""
        return time.monotonic() - self._last >= self.seconds

    def draw(self, text: str) -> None:
        """Writes a line in place of the last one."""
        self._last = time.monotonic()
        # A line that the terminal wraps could not be rewritten.
        fitted = cropped(text, terminal_columns(self.stream) - 1) if self.live else text
        self.stream.write(f"\r\x1b[2K{fitted}" if self.live else f"{text}\n")
        self.stream.flush()

    def note(self, text: str) -> None:
        """Writes a line that remains, above the live one."""
        self.stream.write(f"\r\x1b[2K{text}\n" if self.live else f"{text}\n")
        self.stream.flush()

    def close(self, clear: bool = False) -> None:
        """Ends the line on a terminal, or removes it."""
        self.stream.write(("\r\x1b[2K" if clear else "\n") if self.live else "")
        self.stream.flush()


class Progress:
    """Counts cells as they end; use it as a context manager.

    A terminal gets a bar with the curves so far. Any other stream gets a line every 30 seconds. With `summary`, a line
    at the end counts all cells.

    Example:
        >>> import io
        >>> with Progress(2, stream=io.StringIO()) as progress:
        ...     progress.add("done", episodes=10)
        ...     progress.add("cached", episodes=10)
        >>> progress.line().startswith("2/2 cells: 1 done, 0 failed, 1 cached, 0 running")
        True
    """

    def __init__(self, total: int, stream: TextIO | None = None, noun: str = "cells", summary: bool = True) -> None:
        self.total, self.running, self.episodes, self._noun, self._summary = total, 0, 0, noun, summary
        self._line = LiveLine(stream, log_seconds=30.0)
        self._bar: LiveBar | None = None
        self.curves: RunningCurves | None = None
        """The results so far, for a terminal."""
        self.tasks: Callable[[], list[tuple[str, float]]] = list
        """Returns what runs now, with seconds since its start, where that is known."""
        self._counts: Counter[str] = Counter()
        self._reasons: set[str] = set()
        self._seconds: deque[float] = deque(maxlen=1000)
        self._started = time.monotonic()
        self._stop, self._drawing = threading.Event(), threading.Lock()
        self._ticker = threading.Thread(target=self._tick, daemon=True)

    def __enter__(self) -> Progress:
        self._ticker.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.end_bar()
        if self._summary:
            self._line.note(self.line())

    def end_bar(self) -> None:
        """Draws no more, so that the terminal is free for a question."""
        self._stop.set()
        self._ticker.join()
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    @property
    def is_live(self) -> bool:
        """Whether a terminal shows the bar."""
        return self._line.live

    def add(self, status: str, episodes: int, seconds: float = 0.0) -> None:
        """Counts one cell that ended as done, cached or failed."""
        self._counts[status] += 1
        if status == "done":
            self.episodes += episodes
            self._seconds.append(seconds)
        self.running = min(self.running, self.total - self._counts.total())

    def show_failure(self, name: str, error: str) -> None:
        """Prints why a cell failed to a terminal, once for each reason."""
        if not self.is_live or error in self._reasons or len(self._reasons) >= _MOST_FAILURES:
            return
        self._reasons.add(error)
        more = "; the end of the sweep lists further reasons" if len(self._reasons) == _MOST_FAILURES else ""
        self._print(f"failed: {name}: {shortened(error, _LONGEST_FAILURE)}{more}", "red")

    def note(self, text: str) -> None:
        """Prints a line about the sweep that remains."""
        self.pass_on(f"brittlestar: {text}")

    def pass_on(self, line: str) -> None:
        """Prints a line that a process elsewhere has written."""
        self._print(line)

    def _print(self, line: str, style: str = "") -> None:
        with self._drawing:
            if self._bar is None:
                self._line.note(line)
            else:
                self._bar.note(line, style)

    @property
    def ended(self) -> int:
        """The number of cells that ended."""
        return self._counts.total()

    def _speed(self) -> str:
        """Returns the computed episodes per second; empty before the first ones."""
        return f"{self.episodes / (time.monotonic() - self._started):.1f} episodes/s" if self.episodes else ""

    def _left(self) -> str:
        """Returns the time left, if the other cells take as long as those before; empty where that is not known."""
        computed = self._counts["done"] + self._counts["failed"]
        if not computed or self.ended >= self.total:
            return ""
        return f"{clock((self.total - self.ended) * (time.monotonic() - self._started) / computed)} left"

    def _endings(self) -> str:
        """Returns how the cells ended."""
        counts = ", ".join(f"{self._counts[status]} {status}" for status in ("done", "failed", "cached"))
        return f"{counts}, {self.running} running"

    def line(self) -> str:
        """Returns the state in one line."""
        text = f"{self.ended}/{self.total} {self._noun}: {self._endings()}"
        return ", ".join(filter(None, [text, self._speed(), self._left()])) + self._slow()

    def _slow(self) -> str:
        """Returns a remark on the cell that runs far longer than those before it, if there is one."""
        usual = statistics.median(self._seconds) if self._seconds else math.inf
        name, seconds = max(self.tasks(), key=lambda task: task[1], default=("", 0.0))
        if seconds < max(_SLOW_TIMES * usual, _SLOW_SECONDS):
            return ""
        return f"; {seconds / usual:.0f} times longer than usual: {name} ({clock(seconds)}, see `timeout_minutes`)"

    def _tick(self) -> None:
        while not self._stop.wait(self._line.seconds):
            if self.is_live:
                self._draw()
            else:
                self._line.draw(self.line())

    def _draw(self) -> None:
        # Here and not at the start: a sweep that ends at once needs no bar.
        from brittlestar.sweeps.bar_lines import BarState, bar_lines
        from brittlestar.sweeps.live_bar import LiveBar

        parts = [f"{self.ended:,}/{self.total:,} {self._noun}", self._left(), self._speed()]
        share, failed = self.ended / max(self.total, 1), self._counts["failed"]
        state = BarState(share, parts, self._endings(), failed, self._slow(), self.curves)
        with self._drawing:
            if self._bar is None:
                self._bar = LiveBar(self._line.stream)
            self._bar.draw(bar_lines(state, self._bar.size, self._bar.blocks))
