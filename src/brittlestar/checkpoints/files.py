"""Finds and reads files of limited size, on disk or on the Hugging Face hub."""

from pathlib import Path

from brittlestar.checkpoints.hub import local
from brittlestar.checkpoints.messages import printable, unreadable
from brittlestar.config import HUB
from brittlestar.errors import MissingFileError, UserError, nearest


def existing(path: str | Path, kind: str = "file") -> Path:
    """Returns the absolute path of a file or folder, from the hub if it is there, or raises `MissingFileError`."""
    place = local(path).absolute()
    if kind == "folder" and str(path).startswith(HUB):
        return place.parent
    if place.is_dir() if kind == "folder" else place.is_file():
        return place
    if place.exists():
        raise UserError(f"{printable(str(place), 400)} is not a {kind}")
    try:
        names = [item.name for item in place.parent.iterdir()]
    except OSError:
        names = []
    hint = f"; {printable(nearest(place.name, names), 400)}" if names else ""
    raise MissingFileError(f"there is no {kind} {printable(str(place), 400)}{hint}")


def read_file(path: Path, most: int) -> bytes:
    """Reads a file of at most `most` bytes."""
    try:
        with path.open("rb") as file:
            # Python reserves all the memory that a read requests, so the request must not exceed the file.
            size = file.seek(0, 2)
            file.seek(0)
            if size > most:
                raise unreadable(str(path), f"it has {size} bytes, at most {most} are read")
            return file.read(size)
    except OSError as error:
        raise unreadable(str(path), error.strerror or error) from None
