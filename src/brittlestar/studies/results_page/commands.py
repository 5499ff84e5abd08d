"""What the scripts that write pages share: they start sweeps, and read seeds."""

from __future__ import annotations

import signal
import subprocess
import sys
from typing import Any

from brittlestar.errors import UserError


def run_sweep(command: list[str]) -> bool:
    """Runs a sweep with its live line, and says whether all is well; cells in the store are not computed again.

    SIGTERM, which reaches only this process, ends the sweep as well and counts as Ctrl-C.
    """
    words = [sys.executable, "-m", "brittlestar.commands.main", *command]
    sweep = subprocess.Popen(words, stdout=subprocess.DEVNULL)

    def stop(*_: Any) -> None:
        sweep.terminate()
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        return not sweep.wait()
    finally:
        signal.signal(signal.SIGTERM, before)
        # Ctrl-C reached it, too: it ends by itself, and keeps what is finished.
        sweep.wait()


def read_seeds(given: str) -> list[int]:
    """Reads a list of seeds.

    Example:
        >>> read_seeds("0, 1,7")
        [0, 1, 7]
    """
    words = [word.strip() for word in given.split(",")]
    if not all(word.isdecimal() for word in words) or len(set(words)) < len(words):
        raise UserError(f"`--seeds` must be different whole numbers, such as 0,1,2, got {given!r}")
    return [int(word) for word in words]
