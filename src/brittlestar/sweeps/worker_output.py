"""Brings what workers print to the terminal of the sweep in whole lines, above the live bar."""

from __future__ import annotations

import io
import os
import sys
import threading
from multiprocessing.connection import Connection, Pipe
from typing import NamedTuple

from brittlestar.sweeps.screen import is_screen

_STDOUT, _STDERR = 1, 2
_LONGEST = 65_536
_LAST_SECONDS = 1.0


class OutputEnd(NamedTuple):
    """The end of a pipe that a worker prints to, in place of its own streams with some numbers."""

    pipe: Connection
    numbers: tuple[int, ...]

    def take(self) -> None:
        """Has this process print to the pipe from now on."""
        for number in self.numbers:
            os.dup2(self.pipe.fileno(), number)
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                # With PYTHONUNBUFFERED, another worker could print between a line and its end.
                stream.reconfigure(line_buffering=True, write_through=False)


class WorkerOutput:
    """Reads what workers print, and prints it to the standard error of this process."""

    def __init__(self) -> None:
        self._reader, writer = Pipe(duplex=False)
        self.end = OutputEnd(writer, (_STDOUT, _STDERR) if is_screen(sys.stdout) else (_STDERR,))
        self._thread = threading.Thread(target=self._print, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Prints what is left; call it when the workers have ended."""
        self.end.pipe.close()
        self._thread.join(_LAST_SECONDS)

    def _print(self) -> None:
        rest = b""
        while data := os.read(self._reader.fileno(), _LONGEST):
            *lines, rest = (rest + data).split(b"\n")
            if len(rest) > _LONGEST:
                lines, rest = [*lines, rest], b""
            _write(lines)
        _write([rest] if rest else [])


def _write(lines: list[bytes]) -> None:
    if lines:
        # Looked up for each line: the live bar takes its place while it is drawn.
        sys.stderr.write("".join(f"{line.decode(errors='replace')}\n" for line in lines))
        sys.stderr.flush()


def open_worker_output() -> WorkerOutput | None:
    """Returns the pipe of workers, where a live bar may be on the terminal; else None, and workers print themselves."""
    return WorkerOutput() if os.name == "posix" and is_screen(sys.stderr) else None
