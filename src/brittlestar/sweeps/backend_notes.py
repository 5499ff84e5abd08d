"""Which backend runs, at the start of a run that could choose another one."""

import contextlib
import sys
from collections.abc import Iterable

from brittlestar.cells.job import Job, resolve
from brittlestar.sweeps.screen import is_screen


def print_backends(jobs: Iterable[Job]) -> None:
    """Writes a line to the standard error for every environment whose backend was chosen among several."""
    notes: dict[str, None] = {}
    for job in jobs:
        # A job that cannot be resolved fails when it runs.
        with contextlib.suppress(Exception):
            notes.setdefault(resolve(job).backend_note)
    # A live line may be on the terminal.
    start = "\r\x1b[2K" if is_screen(sys.stderr) else ""
    sys.stderr.write("".join(f"{start}{note}\n" for note in notes if note))
