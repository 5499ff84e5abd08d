"""Exclusive use of a folder, also between hosts that share a file system: a file that says who has it."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import secrets
import sys
import threading
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

from brittlestar.cells.files import host_name, make_folder, temporary_path
from brittlestar.cells.locks import is_unlocked, take_lock
from brittlestar.errors import UserError

CLAIM = ".in_use"
_BEAT_SECONDS = 20.0
_SILENT_SECONDS = 300.0
"""A claim of another host, or one without a lock, holds as long as it was renewed within this time."""


class Claim:
    """The exclusive use of a folder by this process; `release` ends it, and so does the end of the program.

    The claim is a file made with `O_EXCL`, which NFS supports too. It holds while its process is alive. In another
    container of this machine, a lock on the file shows that; on another host, the file is renewed.
    """

    def __init__(self, folder: Path) -> None:
        make_folder(folder)
        self.path, self._token = folder.absolute() / CLAIM, secrets.token_hex(8)
        self._process, self._released, self._handle = os.getpid(), threading.Event(), -1
        # Also behind an interruption, which may come at any moment.
        atexit.register(self.release)
        while not self._create():
            holder = _holder(self.path, _age)
            if holder is not None:
                raise FolderInUseError(folder, holder)
            self._remove_stale()
        threading.Thread(target=self._renew, daemon=True).start()

    def release(self) -> None:
        """Gives the folder back; a process forked from this one cannot."""
        self._released.set()
        handle, self._handle = self._handle, -1
        if handle >= 0:
            os.close(handle)
        with contextlib.suppress(OSError):
            if os.getpid() == self._process and self._token in self.path.read_text():
                self.path.unlink()

    def _create(self) -> bool:
        facts, handle = {"command": " ".join(sys.argv), "since": time.time(), "token": self._token}, -1
        try:
            handle = os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)
            is_locked = take_lock(handle)
            with open(handle, "w", closefd=False) as file:
                json.dump(_identity(os.getpid()) | facts | {"is_locked": is_locked}, file)
        except FileExistsError:
            return False
        except BaseException as error:
            # Also an interruption: `release` knows a claim by its content.
            if handle >= 0:
                os.close(handle)
                self.path.unlink(missing_ok=True)
            if isinstance(error, OSError):
                raise UserError(f"cannot write to {self.path.parent}: {error.strerror}") from None
            raise
        # It remains open, and so locked, until the claim ends.
        self._handle = handle
        return True

    def _remove_stale(self) -> None:
        # Of several processes that find a stale claim, one moves it away; the others find a new claim or none.
        taken = temporary_path(self.path.parent, CLAIM)
        with contextlib.suppress(FileNotFoundError):
            self.path.rename(taken)
            taken.unlink()

    def _renew(self) -> None:
        while not self._released.wait(_BEAT_SECONDS):
            with contextlib.suppress(OSError):
                os.utime(self.path)


class FolderInUseError(UserError):
    """Another process has claimed the folder."""

    def __init__(self, folder: Path, holder: dict[str, Any]) -> None:
        since = datetime.fromtimestamp(holder["since"]).strftime("%Y-%m-%d %H:%M:%S")
        process = f"process {holder['pid']} on {holder['host']} (`{holder['command']}`, since {since})"
        remedy = f"wait for it, or choose another folder; if that process is gone, remove {folder / CLAIM}"
        super().__init__(f"{folder} is in use by {process}: {remedy}")


def holder_of(folder: Path) -> dict[str, Any] | None:
    """Returns which process has claimed a folder, and writes nothing; None if none has."""
    with contextlib.suppress(OSError):
        return _holder(folder.absolute() / CLAIM, _age_by_own_clock)
    return None


def _holder(path: Path, age_of: Callable[[Path], float]) -> dict[str, Any] | None:
    """Returns who holds a claim; None if it holds no longer."""
    try:
        holder, age = json.loads(path.read_text()), age_of(path)
    except FileNotFoundError:
        return None
    except ValueError:
        # A process that was killed between creating and filling the file, or one that is about to fill it.
        holder, age = {"pid": "?", "host": "?", "command": "?", "since": time.time()}, age_of(path)
        return holder if age < _BEAT_SECONDS else None
    place = _place()
    if holder.get("start") is None or {key: holder.get(key) for key in place} != place:
        is_dead = holder.get("is_locked") and holder.get("boot") == place["boot"] and is_unlocked(path)
        return holder if age < _SILENT_SECONDS and not is_dead else None
    return holder if holder == holder | _identity(holder["pid"]) else None


def _age(path: Path) -> float:
    """Returns the seconds since a file was renewed, by the clock of its file system."""
    probe = temporary_path(path.parent, "clock")
    try:
        probe.touch()
        return probe.stat().st_mtime - path.stat().st_mtime
    except FileNotFoundError:
        return 0.0
    finally:
        probe.unlink(missing_ok=True)


def _age_by_own_clock(path: Path) -> float:
    return time.time() - path.stat().st_mtime


def _identity(pid: int) -> dict[str, Any]:
    """Returns what distinguishes a process from all others, also from later ones with the same id."""
    start = None
    with contextlib.suppress(OSError):
        start = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
    return _place() | {"pid": pid, "start": start}


def _place() -> dict[str, str]:
    """Returns the host, its boot, and the namespace of process ids: within them, a process id has one meaning."""
    place = {"host": host_name(), "boot": "", "pids": ""}
    with contextlib.suppress(OSError):
        place["boot"] = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        place["pids"] = os.readlink("/proc/self/ns/pid")
    return place
