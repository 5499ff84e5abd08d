"""Shows a sweep that runs elsewhere: a bar and partial tables in a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from datetime import datetime
from pathlib import Path

from brittlestar.errors import UserError, counted
from brittlestar.reports.overview import sweep_overview
from brittlestar.reports.small_plots import terminal_plots
from brittlestar.reports.summary import as_swept
from brittlestar.reports.terminal_text import print_text, styled_lines
from brittlestar.results.aggregate import Tables, aggregate
from brittlestar.results.failures import failure_groups
from brittlestar.results.follow import SweepFollower
from brittlestar.sweeps.progress import LiveLine, clock
from brittlestar.sweeps.screen import is_screen

LOOK_SECONDS = 1.0
_LOG_SECONDS = 30.0
_TABLE_SHARE = 0.1
"""Tables are made again so seldom that they take no more of the time."""
_MOST_FAILURES = 3


class SweepView:
    """What there is to see of a sweep now."""

    def __init__(self, folder: Path) -> None:
        self.sweep = SweepFollower(folder)
        self.tables: Tables | None = None
        self._made = -1
        self._next = 0.0

    def look(self) -> None:
        """Reads what is new; makes the tables again if there is something, and if they do not take too long."""
        self.sweep.poll()
        if self._made != len(self.sweep.cells) and time.monotonic() >= self._next:
            self.make_tables()

    def make_tables(self) -> None:
        """Makes the tables of the cells so far."""
        started, cells = time.monotonic(), [cell for cell in self.sweep.cells if cell.role is None]
        self._made, is_first = len(self.sweep.cells), self.tables is None
        self.tables = as_swept(aggregate(cells), cells) if cells else None
        # The first time takes longer than any other.
        self._next = 0.0 if is_first else started + (time.monotonic() - started) / _TABLE_SHARE

    @property
    def title(self) -> str:
        """What the tables are of."""
        sweep = self.sweep
        if sweep.total is None:
            return "no cell yet: the sweep starts"
        whole = f"all {counted(sweep.total, 'cell')}" if not sweep.missing else ""
        return whole or f"partial: {self._made if self._made >= 0 else 0} of {counted(sweep.total, 'cell')}"

    def parts(self) -> list[str]:
        """Returns cells, time left and speed, as far as they are known."""
        sweep = self.sweep
        episodes, cells = sweep.speed()
        left = f"{clock(sweep.missing / cells)} left" if cells and sweep.missing else ""
        counts = f"{len(sweep.cells):,}/{sweep.total or 0:,} cells" if sweep.total is not None else "starting"
        return [counts, left, f"{episodes:.1f} episodes/s" if episodes else ""]

    def state(self) -> str:
        """Returns how the cells ended, and who runs the sweep."""
        done = len(self.sweep.cells) - self.sweep.failed
        return f"{done} done, {self.sweep.failed} failed; {self._process()}"

    def _process(self) -> str:
        sweep, holder = self.sweep, self.sweep.holder
        if holder is None:
            return "stopped" if sweep.missing else "ended"
        since = datetime.fromtimestamp(holder["since"]).strftime("%Y-%m-%d %H:%M:%S")
        verb = "runs" if sweep.missing or sweep.total is None else "writes tables"
        return f"process {holder['pid']} on {holder['host']} {verb}, since {since}"

    def failures(self) -> list[str]:
        """Returns the most frequent reasons of failed cells."""
        groups = failure_groups(self.tables.failures) if self.tables is not None else []
        return [f"{counted(group['cells'], 'cell')} failed: {group['error']}" for group in groups[:_MOST_FAILURES]]

    def text(self) -> str:
        """Returns the tables of the cells so far."""
        overview = sweep_overview(self.tables) if self.tables is not None else ""
        plots = terminal_plots(self.tables) if self.tables is not None else []
        return "\n\n".join(filter(None, [*self.failures(), overview, *plots]))


def watch_sweep(folder: Path, once: bool = False) -> None:
    """Shows a sweep until it ends, or once; raises a `UserError` at the end if it was stopped or has failed cells."""
    view = SweepView(folder)
    if not once and view.sweep.holder is not None:
        _follow(view)
    view.make_tables()
    print_text("\n\n".join(filter(None, [f"{folder}, {view.title}: {view.state()}", view.text()])), folder)
    if once:
        return
    if view.sweep.missing:
        missing = f"{folder} was stopped with {len(view.sweep.cells)} of {counted(view.sweep.total or 0, 'cell')}"
        raise UserError(f"{missing}; the same command continues it, and jobs of a cluster may still run")
    if view.sweep.failed:
        raise UserError(f"{counted(view.sweep.failed, 'cell')} of {view.sweep.total} failed, see {folder}/failures.csv")


def _follow(view: SweepView) -> None:
    """Shows the sweep until no process has its folder."""
    show = _Screen(view) if is_screen(sys.stdout) else _Lines(view)
    try:
        while view.sweep.holder is not None:
            view.look()
            show.draw()
            time.sleep(LOOK_SECONDS)
    finally:
        show.close()


class _Lines:
    """A line now and then, if a cell has ended since."""

    def __init__(self, view: SweepView) -> None:
        self._view, self._line, self._count = view, LiveLine(sys.stdout, _LOG_SECONDS, live=False), -1
        self._write()

    def draw(self) -> None:
        if self._line.is_due and self._count != len(self._view.sweep.cells):
            self._write()

    def _write(self) -> None:
        self._count = len(self._view.sweep.cells)
        self._line.draw(", ".join(filter(None, [*self._view.parts(), self._view.state()])))

    def close(self) -> None:
        self._line.close()


class _Screen:
    """The bar, reasons of failures, and as many rows of the tables as fit."""

    def __init__(self, view: SweepView) -> None:
        from brittlestar.sweeps.live_bar import LiveBar

        self._view, self._bar = view, LiveBar(sys.stdout)

    def draw(self) -> None:
        from rich.text import Text

        from brittlestar.sweeps.bar_lines import BarState, bar_lines

        view, (width, height) = self._view, self._bar.size
        sweep = view.sweep
        share = len(sweep.cells) / max(sweep.total or 0, 1)
        state = BarState(share, view.parts(), view.state(), sweep.failed)
        lines = bar_lines(state, (width, height), self._bar.blocks)
        if view.tables is not None:
            lines += [Text(""), Text(view.title, "bold"), *styled_lines(view.text(), width, sweep.folder)]
        most = max(1, height - 2)
        rest = [Text("…", "dim")] if len(lines) > most else []
        self._bar.draw([*lines[:most], *rest])

    def close(self) -> None:
        self._bar.close()
