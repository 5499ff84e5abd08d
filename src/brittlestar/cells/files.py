"""Files and folders that a reader finds whole or not at all."""

import functools
import os
import platform
import secrets
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


def write_file(
    path: Path, content: str | bytes | Callable[[BinaryIO], Any], durable: bool = False, folder: Path | None = None
) -> None:
    """Replaces a file by an atomic rename, so that a reader never finds a part of it.

    Args:
        path: the file.
        content: text, bytes, or a function that writes to the opened file.
        durable: whether the file survives a power cut, by an fsync that takes milliseconds.
        folder: where the unfinished file is, on the same file system; by default that of the file.
    """
    temporary = temporary_path(folder or path.parent, path.name)
    try:
        with open(temporary, "wb") as file:
            if callable(content):
                content(file)
            else:
                file.write(content.encode() if isinstance(content, str) else content)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        temporary.rename(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise UserError(f"cannot write {path}: {error.strerror}") from None
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def temporary_path(folder: Path, name: str) -> Path:
    """Returns a hidden name that no other process uses, in whatever container or on whatever host it runs."""
    return folder / f".{name}.{host_name()}.{os.getpid()}.{secrets.token_hex(4)}"


@functools.cache
def host_name() -> str:
    """Returns the name of this machine or container, without dots."""
    return platform.node().partition(".")[0] or "localhost"


def check_writable(folder: Path) -> None:
    """Raises a `UserError` unless a file can be written to a folder, which is made if it does not exist."""
    make_folder(folder)
    probe = temporary_path(folder, "probe")
    try:
        with open(probe, "wb") as file:
            file.write(bytes(4096))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise UserError(f"cannot write to {folder}: {error.strerror}") from None
    finally:
        probe.unlink(missing_ok=True)


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
