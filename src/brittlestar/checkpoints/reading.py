"""One-line errors for files that cannot be trusted: they name the file, the entry and the reason."""

from __future__ import annotations

import reprlib
from pathlib import Path
from typing import BinaryIO

from brittlestar.config import HUB
from brittlestar.errors import UserError, nearest

_SHOWN = 120


def plain(value: object, limit: int = _SHOWN) -> str:
    r"""Returns text from a file as one printable line, so that it cannot steer a terminal.

    Example:
        >>> plain("two\nlines \x1b[31m")
        'two lines ?[31m'
    """
    text = value if isinstance(value, str) else _short(value)
    line = " ".join(text[: 4 * limit].split())
    line = "".join(letter if letter.isprintable() else "?" for letter in line)
    return line if len(line) <= limit else f"{line[: limit - 3]}..."


def damaged(where: str, reason: object) -> UserError:
    """Returns the error of a file or entry that cannot be read."""
    return UserError(f"{plain(where, 400)} cannot be read: {plain(reason, 300)}")


def existing(path: str | Path, kind: str = "file") -> Path:
    """Returns the path as absolute, or says where it looked and which name there is nearest.

    What stands on the Hugging Face hub is downloaded.
    """
    from brittlestar.checkpoints.hub import local

    place = local(path).absolute()
    if kind == "folder" and str(path).startswith(HUB):
        return place.parent
    if place.is_dir() if kind == "folder" else place.is_file():
        return place
    if place.exists():
        raise UserError(f"{plain(str(place), 400)} is not a {kind}")
    names = _names(place.parent)
    hint = f"; {plain(nearest(place.name, names), 400)}" if names else ""
    raise UserError(f"there is no {kind} {plain(str(place), 400)}{hint}")


def read_file(path: Path, most: int) -> bytes:
    """Reads a file of at most `most` bytes."""
    try:
        with path.open("rb") as file:
            return read_stream(file, str(path), most)
    except OSError as error:
        raise damaged(str(path), error.strerror or error) from None


def read_stream(file: BinaryIO, where: str, most: int) -> bytes:
    """Reads the rest of an open file, if it has at most `most` bytes."""
    start = file.tell()
    # Python reserves all the memory that a read asks for, so it must ask for no more than there is.
    size = file.seek(0, 2) - start
    file.seek(start)
    if size > most:
        raise damaged(where, f"it has {size} bytes, at most {most} are read")
    return file.read(size)


def _short(value: object) -> str:
    # Values of a file may be nested or shared without end, and Python refuses to print long numbers.
    short = reprlib.Repr()
    short.maxlevel, short.maxlist, short.maxdict, short.maxtuple, short.maxother = 4, 20, 20, 20, _SHOWN
    try:
        return short.repr(value)
    except (ValueError, RecursionError):
        return f"a {type(value).__name__}"


def _names(folder: Path) -> list[str]:
    try:
        return [item.name for item in folder.iterdir()]
    except OSError:
        return []
