"""Text about untrusted files: values as one printable line, and the error of an unreadable file."""

import reprlib

from brittlestar.errors import UserError

_LINE = 120


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
