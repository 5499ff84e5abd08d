"""Files and folders that a reader finds whole or not at all."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

from brittlestar.errors import UserError


def make_folder(folder: Path) -> None:
    """Makes a folder and its parents; raises a `UserError` where that is not possible."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"cannot write to {folder}: {error.strerror}") from None


def write_file(path: Path, content: str | Callable[[BinaryIO], Any], durable: bool = False) -> None:
    """Replaces a file by an atomic rename, so that a reader never finds a part of it.

    `content` is text, or a function that writes to the opened file. A `durable` file survives a power cut, by an fsync
    that takes milliseconds.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(temporary, "wb") as file:
            if isinstance(content, str):
                file.write(content.encode())
            else:
                content(file)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        temporary.rename(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise UserError(f"cannot write {path}: {error.strerror}") from None


def write_folder(folder: Path, fill: Callable[[Path], None]) -> None:
    """Replaces a folder by what `fill` writes into an empty one.

    A kill between the two renames leaves the old content in `previous(folder)`.
    """
    fresh, old = folder.with_suffix(".new"), previous(folder)
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    try:
        fill(fresh)
        shutil.rmtree(old, ignore_errors=True)
        if folder.exists():
            folder.rename(old)
        fresh.rename(folder)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    shutil.rmtree(old, ignore_errors=True)


def previous(folder: Path) -> Path:
    """Returns where `write_folder` keeps the old content until the new content is in place."""
    return folder.with_suffix(".old")
