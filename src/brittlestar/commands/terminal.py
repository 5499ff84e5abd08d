"""What all commands share: the parser, the exit codes and the number of threads."""

import argparse
import functools
import os
import sys
from collections.abc import Callable
from typing import NoReturn

from brittlestar.commands.interruption import begin, end_if_interrupted, stop_line
from brittlestar.errors import UserError, shortened

FAILED, WRONG_USAGE = 1, 2
GATE_CODES = {"passed": 0, "failed": 3, "not decided": 4}
"""Exit codes of a gate by its status; any other status is an error."""
CLOSED_PIPE = 141
"""Exit code of a program whose reader closed the pipe: 128 plus the number of SIGPIPE."""
HELP_WIDTH = 110
"""Columns of help texts."""


class Parser(argparse.ArgumentParser):
    """An argument parser that reports an error in one line; `prog` is the command as the user types it."""

    def __init__(self, prog: str, description: str | None = None) -> None:
        formatter = functools.partial(argparse.HelpFormatter, width=HELP_WIDTH, max_help_position=36)
        super().__init__(prog, description=description, formatter_class=formatter)

    def error(self, message: str) -> NoReturn:
        """Prints the error and exits with code 2."""
        leave(f"{message}; see `{self.prog} --help`", WRONG_USAGE)


def leave(message: str, code: int = FAILED) -> NoReturn:
    """Prints a message to stderr, with long lines shortened, and ends the program."""
    sys.stderr.write("brittlestar: " + "\n".join(map(shortened, message.split("\n"))) + "\n")
    sys.exit(code)


def command(main: Callable[[], None]) -> Callable[[], None]:
    """Gives the main function of a command its exit codes.

    A `UserError` is printed as one line. Ctrl-C ends with code 130, SIGTERM with 143. A closed pipe, as in
    `... | head`, ends silently.

    Example:
        >>> command(lambda: print("done"))()
        done
    """

    @functools.wraps(main)
    def run() -> None:
        begin()
        try:
            try:
                main()
            finally:
                # Python's own flush comes too late to catch its error.
                sys.stdout.flush()
            end_if_interrupted()
        except BaseException as error:
            end_if_interrupted(error)
            _report(error)

    return run


def _report(error: BaseException) -> NoReturn:
    """Ends the program with the line and the exit code of an exception."""
    if isinstance(error, UserError):
        leave(str(error))
    if isinstance(error, KeyboardInterrupt):
        leave(*stop_line(error))
    if isinstance(error, BrokenPipeError):
        # Python flushes once more when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(CLOSED_PIPE)
    raise error


def use_one_thread() -> None:
    """Keeps numerical libraries and drawing to one thread per process, unless the user set another number.

    Call it before numpy is imported. Results never depend on the number of threads.
    """
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    # Mesa, which draws without a graphics card, counts the threads beside the one that asks for a picture.
    os.environ.setdefault("LP_NUM_THREADS", "0")
