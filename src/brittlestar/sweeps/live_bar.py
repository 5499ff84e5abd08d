"""The lines at the bottom of a terminal while a sweep runs; import it only where there is a terminal."""

from __future__ import annotations

import atexit
import sys
from collections.abc import Sequence
from typing import TextIO

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from brittlestar.sweeps.screen import draws_blocks

_LONGEST_BAR, _SHORTEST_BAR = 40, 6


class _Console(Console):
    """A console that leaves the cursor alone: after a process that was killed, it must not be missing."""

    def show_cursor(self, show: bool = True) -> bool:
        return False


class LiveBar:
    """A few lines that are drawn again and again; what this process prints meanwhile appears above them."""

    def __init__(self, stream: TextIO) -> None:
        self.blocks = draws_blocks(stream)
        self._console = _Console(file=stream, force_terminal=True, markup=False, emoji=False, highlight=False)
        own = stream is sys.stderr
        both = own and sys.stdout.isatty()
        self._live = Live(
            console=self._console, auto_refresh=False, transient=True, redirect_stdout=both, redirect_stderr=own
        )
        self._live.start()
        # A second signal ends the program without the way back to whoever draws.
        atexit.register(self.close)

    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows of the terminal."""
        return self._console.size.width, self._console.size.height

    def draw(self, lines: Sequence[Text]) -> None:
        """Draws lines in place of the last ones; what does not fit into the width or the height is cut."""
        most = max(1, self.size[1] - 1)
        for line in lines:
            line.no_wrap, line.overflow = True, "ellipsis" if self.blocks else "crop"
        self._live.update(Group(*lines[:most]), refresh=True)

    def note(self, text: str, style: str = "") -> None:
        """Prints a line that remains, above the others."""
        self._console.print(Text(text, style), soft_wrap=True)

    def close(self) -> None:
        """Removes the lines."""
        atexit.unregister(self.close)
        self._live.stop()


def bar_line(share: float, parts: Sequence[str], width: int, blocks: bool = True) -> Text:
    """Returns a bar and behind it as many texts as fit, the first ones first.

    Example:
        >>> bar_line(0.5, ["1/2 cells", "0:05 left"], 27, blocks=False).plain
        '###--- 1/2 cells  0:05 left'
        >>> bar_line(0.5, ["1/2 cells", "0:05 left"], 20, blocks=False).plain
        '#####----- 1/2 cells'
    """
    kept = [part for i, part in enumerate(parts) if len("  ".join(parts[: i + 1])) + _SHORTEST_BAR + 1 <= width]
    text = "  ".join(kept or parts[:1])
    count = max(0, min(_LONGEST_BAR, width - len(text) - 1))
    filled = round(share * count)
    bar, rest = ("━", "─") if blocks else ("#", "-")
    gap = " " if count else ""
    return Text.assemble((bar * filled, "green"), (rest * (count - filled), "dim"), gap, text)
