"""What the pages of results share: they start sweeps, read seeds and write numbers."""

import signal
import subprocess
import sys
from typing import Any

from brittlestar.errors import Interrupted, UserError
from brittlestar.results.format import bounded_column, is_missing
from brittlestar.results.load import Row

MET, MISSED, UNDECIDED = "met", "**missed**", "not decided"
"""Verdicts on a bar: all of the interval meets it, none of it does, or only a part, so that the data do not tell."""
JUDGED = """\
Judged by the interval, not by the estimate. Met: all of the interval meets the bar. Missed: none of it does. Not
decided: only a part of it does, so that these episodes do not tell; more of them do."""
_TOLERANCE = 1e-9


def run_command(words: list[str]) -> bool:
    """Runs `brittlestar` with its live line and returns whether it succeeded; stored cells are not computed again.

    Ctrl-C reaches the sweep, too. SIGTERM reaches only this process, which ends the sweep as well.
    """
    sweep = subprocess.Popen([sys.executable, "-m", "brittlestar.commands.main", *words], stdout=subprocess.DEVNULL)
    before = {number: signal.signal(number, _interrupt) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        return not sweep.wait()
    except Interrupted as interruption:
        if interruption.number == signal.SIGTERM:
            sweep.terminate()
        code = sweep.wait()
        if code > 0:
            # The sweep has printed the line of the interruption.
            sys.exit(code)
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _interrupt(number: int, _: Any) -> None:
    raise Interrupted(number)


def read_seeds(text: str) -> list[int]:
    """Reads a list of seeds.

    Example:
        >>> read_seeds("0, 1,7")
        [0, 1, 7]
    """
    words = [word.strip() for word in text.split(",")]
    if not all(word.isdecimal() for word in words) or len(set(words)) < len(words):
        raise UserError(f"`--seeds` must be different whole numbers, such as 0,1,2, got {text!r}")
    return [int(word) for word in words]


def three_digits(value: Any, sign: str = "") -> str:
    """Writes a number with three digits, and nothing for a missing one.

    Example:
        >>> three_digits(0.98765), three_digits(-31.0456, "+"), three_digits(None), three_digits(2e-16)
        ('0.988', '-31', '', '0')
    """
    # Least squares leave such a small slope of a flat curve.
    return "" if is_missing(value) else f"{0.0 if abs(value) < 1e-12 else value:{sign}.3g}"


def with_interval(row: Row, name: str) -> str:
    """Writes a column with its interval, three digits each."""
    return bounded_column(row, name, three_digits)


def points(value: float) -> str:
    """Writes a difference of rates in percentage points.

    Example:
        >>> points(0.405), points(-0.03)
        ('+40.5', '-3.0')
    """
    return f"{100 * value + 0.0:+.1f}"


def percent(value: float) -> str:
    """Writes a rate.

    Example:
        >>> percent(0.9967)
        '99.7 %'
    """
    return f"{100 * value:.1f} %"


def judge(bar: float, low: float, high: float) -> str:
    """Judges a value that should be at least `bar` by its interval; see `MET`, `MISSED` and `UNDECIDED`.

    Example:
        >>> judge(0.95, 0.96, 1.0), judge(0.95, 0.8, 0.9), judge(0.99, 0.975, 1.0)
        ('met', '**missed**', 'not decided')
    """
    # 0.9 - 0.5 is below 0.4 in floating point.
    if low >= bar - _TOLERANCE:
        return MET
    return MISSED if high < bar - _TOLERANCE else UNDECIDED
