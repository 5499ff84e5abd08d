"""Finds and reads files of limited size, on disk or on the Hugging Face hub."""

import contextlib
from pathlib import Path

from brittlestar.checkpoints.hub import local
from brittlestar.checkpoints.messages import STAND_IN_BYTES, printable, stand_in, unreadable
from brittlestar.config import HUB
from brittlestar.errors import MissingFileError, UserError, nearest_file


def existing(path: str | Path, kind: str = "file") -> Path:
    """Returns the absolute path of a file or folder, from the hub if it is there, or raises `MissingFileError`."""
    place = local(path).absolute()
    if kind == "folder" and str(path).startswith(HUB):
        return place.parent
    if place.is_dir() if kind == "folder" else place.is_file():
        return place if kind == "folder" else _checked(place)
    if place.exists():
        raise UserError(f"{printable(str(place), 400)} is not a {kind}")
    try:
        names = [item.name for item in place.parent.iterdir()]
    except OSError:
        names = []
    hint = printable(nearest_file(place.name, names), 400)
    raise MissingFileError(f"there is no {kind} {printable(str(place), 400)}{hint}")


def _checked(place: Path) -> Path:
    """Returns the path of a file; refuses an empty one, or a pointer to another."""
    # The reader of the file reports a file that cannot be opened.
    with contextlib.suppress(OSError), place.open("rb") as file:
        if reason := stand_in(file.read(STAND_IN_BYTES)):
            raise unreadable(str(place), reason)
    return place


def read_file(path: Path, most: int) -> bytes:
    """Reads a file of at most `most` bytes."""
    try:
        with path.open("rb") as file:
            # Python reserves all the memory that a read requests, so the request must not exceed the file.
            size = file.seek(0, 2)
            file.seek(0)
            if size > most:
                raise unreadable(str(path), f"it has {size} bytes, at most {most} are read")
            content = file.read(size)
    except OSError as error:
        raise unreadable(str(path), error.strerror or error) from None
    if content and (reason := stand_in(content[:STAND_IN_BYTES])):
        raise unreadable(str(path), reason)
    return content
