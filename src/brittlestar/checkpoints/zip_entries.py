"""Reads entries of an untrusted zip; checks sizes before it unpacks anything."""

import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from brittlestar.checkpoints.messages import STAND_IN_BYTES, TRUNCATED, printable, stand_in, unreadable

MAX_UNPACKED = 1 << 30
"""Largest total size of all entries, in bytes."""
MAX_ZIP_ENTRIES = 20_000
ZIP_START = b"PK\3\4"
"""How every zip that has an entry starts."""
MAX_RATIO = 1_000
"""Largest compression ratio of entries above `_SMALL`."""

_SMALL = 1 << 20
_DIRECTORY = 4 << 20
_TAIL = (1 << 16) + 22 + 20 + 56
_ERRORS = (
    zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, ValueError, KeyError, IndexError,
    NotImplementedError, RuntimeError, OverflowError,
)  # fmt: skip


class ZipEntries:
    """The entries of an open zip, checked for zip bombs, unsafe names and encryption; `where` is for messages."""

    def __init__(self, file: BinaryIO, where: str) -> None:
        self._where = where
        with self._reading(where):
            _check_directory(file, where)
            self._zip = zipfile.ZipFile(file)
        self._entries: dict[str, zipfile.ZipInfo] = {}
        infos = self._zip.infolist()
        if len(infos) > MAX_ZIP_ENTRIES:
            raise unreadable(where, f"it has {len(infos)} entries, at most {MAX_ZIP_ENTRIES} are read")
        for info in infos:
            self._check(info)
            self._entries[info.filename] = info
        total = sum(info.file_size for info in infos)
        if total > MAX_UNPACKED:
            raise unreadable(where, f"it unpacks to {total} bytes, at most {MAX_UNPACKED} are read")

    @property
    def names(self) -> list[str]:
        """Names of all entries, in the order of the file."""
        return list(self._entries)

    def read(self, name: str, most: int = MAX_UNPACKED) -> bytes:
        """Unpacks one entry of at most `most` bytes."""
        place = self.place(name)
        if name not in self._entries:
            raise unreadable(self._where, f"it has no entry `{printable(name)}`")
        info = self._entries[name]
        if info.file_size > most:
            raise unreadable(place, f"it has {info.file_size} bytes, at most {most} are read")
        with self._reading(place), self._zip.open(info) as entry:
            return entry.read(info.file_size)

    def place(self, name: str) -> str:
        """Returns file and entry for a message."""
        return f"{self._where}, entry `{printable(name)}`,"

    def _check(self, info: zipfile.ZipInfo) -> None:
        name, place = info.filename, self.place(info.filename)
        if name in self._entries:
            raise unreadable(place, "the name occurs twice")
        if name.startswith("/") or "\\" in name or ":" in name or ".." in name.split("/"):
            raise unreadable(place, "the name leads out of the archive")
        if info.flag_bits & 1:
            raise unreadable(place, "it is encrypted")
        # bz2 and lzma unpack a whole chunk at once, without a limit of its size.
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise unreadable(place, f"compression {info.compress_type} is not one of stored, deflated")
        if info.file_size > _SMALL and info.file_size > MAX_RATIO * info.compress_size:
            raise unreadable(place, f"{info.compress_size} bytes would unpack to {info.file_size}")

    @contextmanager
    def _reading(self, place: str) -> Iterator[None]:
        try:
            yield
        except _ERRORS as error:
            raise unreadable(place, str(error) or type(error).__name__) from None


def _check_directory(file: BinaryIO, where: str) -> None:
    """Refuses a huge table of contents before `zipfile` parses it."""
    size = file.seek(0, 2)
    if size > MAX_UNPACKED:
        raise unreadable(where, f"it has {size} bytes, at most {MAX_UNPACKED} are read")
    file.seek(max(0, size - _TAIL))
    tail = file.read(_TAIL)
    end = len(tail) - 22
    if end < 0 or tail[end : end + 4] != b"PK\5\6" or tail[-2:] != b"\0\0":
        end = tail.rfind(b"PK\5\6")
    if end < 0 or len(tail) < end + 22:
        file.seek(0)
        start = file.read(STAND_IN_BYTES)
        cut = TRUNCATED if start.startswith(ZIP_START) else "it is not a zip file"
        raise unreadable(where, stand_in(start) or cut)
    directory, offset, comment = struct.unpack("<LLH", tail[end + 12 : end + 22])
    if end + 22 + comment != len(tail):
        # The end of a zip within this one: the weights of an agent are a zip, too.
        raise unreadable(where, TRUNCATED)
    is_large = tail[max(0, end - 20) : end].startswith(b"PK\6\7")
    if is_large:
        directory = _directory64(tail[:end], size - len(tail), where)
    if directory > _DIRECTORY:
        raise unreadable(where, f"its table of contents has {directory} bytes, at most {_DIRECTORY} are read")
    if not is_large and offset + directory != size - len(tail) + end:
        raise unreadable(where, TRUNCATED)
    file.seek(0)


def _directory64(tail: bytes, before: int, where: str) -> int:
    """Returns the size of the table of contents of a zip64 file, which torch always writes."""
    record, place = tail[-76:-20], int.from_bytes(tail[-12:-4], "little")
    # Some versions of Python read the record at the stated offset, others the one just before the end.
    if len(record) < 56 or not record.startswith(b"PK\6\6") or place != before + len(tail) - 76:
        raise unreadable(where, f"its zip64 end is damaged, or {TRUNCATED}")
    return int.from_bytes(record[40:48], "little")
