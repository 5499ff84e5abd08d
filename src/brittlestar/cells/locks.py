"""Locks on files, which the kernel takes back when a process dies: containers of one machine see that of each other."""

import os
from pathlib import Path

try:
    import fcntl
except ImportError:
    # Windows has no such locks.
    fcntl = None  # type: ignore[assignment]


def take_lock(handle: int) -> bool:
    """Locks an open file as long as it is open; False where another process has it, or the file system has no locks."""
    return _try(handle, "LOCK_EX")


def is_unlocked(path: Path) -> bool:
    """Whether no living process has locked a file; False where that cannot be known."""
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError:
        return False
    try:
        # Several processes may look at once.
        return _try(handle, "LOCK_SH")
    finally:
        os.close(handle)


def _try(handle: int, kind: str) -> bool:
    if fcntl is None:
        return False
    try:
        fcntl.flock(handle, getattr(fcntl, kind) | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
