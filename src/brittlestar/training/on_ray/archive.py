"""The folder of a training as one file that travels in pieces."""

import hashlib
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from brittlestar.cells.files import write_folder
from brittlestar.training.folder import METADATA

PIECE_BYTES = 8_000_000
ARRIVED = ".arrived"
"""Folder of what was unpacked and is not in its place yet."""


class Piece(NamedTuple):
    """A part of a file; the last one has the digest of the whole."""

    offset: int
    content: bytes
    digest: str = ""


def pack_folder(folder: Path, archive: Path) -> bool:
    """Writes what a folder holds to an archive, without hidden files; returns whether there is anything."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and not _is_hidden(path.relative_to(folder))]
    if files:
        # Networks and replay buffers hardly get smaller by a compression that takes long.
        with zipfile.ZipFile(archive, "w") as file:
            for path in files:
                file.write(path, path.relative_to(folder))
    return bool(files)


def unpack_folder(archive: Path, folder: Path) -> None:
    """Replaces files and folders of a folder by those of an archive, each at once, the sign of the end last."""
    arrived = folder / ARRIVED
    shutil.rmtree(arrived, ignore_errors=True)
    try:
        with zipfile.ZipFile(archive) as file:
            file.extractall(arrived)
        # A training that is killed leaves its scores behind its checkpoint, too.
        for path in sorted(arrived.iterdir(), key=lambda path: (path.is_file(), path.name == METADATA)):
            _replace(path, folder / path.name)
    finally:
        shutil.rmtree(arrived, ignore_errors=True)


def pieces_of(archive: Path) -> Iterator[Piece]:
    """Yields an archive in pieces that fit into memory many times."""
    offset, total, size = 0, hashlib.sha256(), archive.stat().st_size
    with archive.open("rb") as file:
        while content := file.read(PIECE_BYTES):
            total.update(content)
            is_last = offset + len(content) >= size
            yield Piece(offset, content, total.hexdigest() if is_last else "")
            offset += len(content)


def add_piece(archive: Path, piece: Piece) -> bool:
    """Writes a piece to an archive, which the first one makes anew; returns whether the archive is whole now."""
    with archive.open("r+b" if piece.offset else "wb") as file:
        file.seek(piece.offset)
        file.write(piece.content)
    return bool(piece.digest) and file_digest(archive) == piece.digest


def file_digest(path: Path) -> str:
    """Returns the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _replace(path: Path, target: Path) -> None:
    def fill(fresh: Path) -> None:
        for entry in path.iterdir():
            entry.replace(fresh / entry.name)

    if path.is_file():
        path.replace(target)
    else:
        write_folder(target, fill)


def _is_hidden(path: Path) -> bool:
    return path.parts[0].startswith(".")
