"""Text about untrusted files: values as one printable line, and the error of an unreadable file."""

import re
import reprlib

from brittlestar.errors import UserError

_LINE = 120
TRUNCATED = "it is truncated, its end is missing: download or copy it again"
STAND_IN_BYTES = 100
"""How many bytes `stand_in` needs."""


def printable(value: object, limit: int = _LINE) -> str:
    r"""Returns a value from a file as one line of printable text, so that it cannot control a terminal.

    Example:
        >>> printable("two\nlines \x1b[31m")
        'two lines ?[31m'
    """
    text = value if isinstance(value, str) else _short(value)
    line = " ".join(text[: 4 * limit].split())
    line = "".join(letter if letter.isprintable() else "?" for letter in line)
    return line if len(line) <= limit else f"{line[: limit - 3]}..."


def stand_in(start: bytes) -> str | None:
    """Returns what a file holds in place of its content, from its first bytes; None if these show nothing wrong.

    Example:
        >>> stand_in(b"version https://git-lfs.github.com/spec/v1")
        'it is a git-LFS pointer, not the file itself: run `git lfs pull` in its repository'
    """
    if not start:
        return "it is empty: download or copy it again"
    if start.startswith(b"version https://git-lfs.github.com/spec/"):
        return "it is a git-LFS pointer, not the file itself: run `git lfs pull` in its repository"
    if re.match(rb"\s*<(!doctype html|html)\b", start, re.IGNORECASE):
        return "it is a web page, not the file itself: download the raw file"
    return None


def unreadable(where: str, reason: object) -> UserError:
    """Returns the error of a file or an entry that cannot be read."""
    return UserError(f"{printable(where, 400)} cannot be read: {printable(reason, 300)}")


def _short(value: object) -> str:
    # A file may nest or share values without end, and Python refuses to print long integers.
    short = reprlib.Repr()
    short.maxlevel, short.maxlist, short.maxdict, short.maxtuple, short.maxother = 4, 20, 20, 20, _LINE
    try:
        return short.repr(value)
    except (ValueError, RecursionError):
        return f"a {type(value).__name__}"
