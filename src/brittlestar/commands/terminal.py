"""What every command of the project does at its end."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable

CLOSED = 141
"""Exit code of a program whose reader went away: 128 and the number of the signal."""


def quiet_end(main: Callable[[], None]) -> Callable[[], None]:
    """Lets a command end without a word when nobody reads on, as in `... | head`.

    Example:
        >>> quiet_end(lambda: print("done"))()
        done
    """

    @functools.wraps(main)
    def run() -> None:
        try:
            try:
                main()
            finally:
                # Here, not when Python ends: nobody could catch it there.
                sys.stdout.flush()
        except BrokenPipeError:
            # Python flushes once more at its end.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(CLOSED)

    return run
