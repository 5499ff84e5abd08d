"""The memory of a process that runs for days."""

import contextlib
import ctypes
import functools
import gc
from collections.abc import Callable, Iterator


def trim_memory() -> None:
    """Frees what only garbage holds, and gives it back to the system, where the C library would keep it.

    Without it, a worker grows by half a megabyte per cell.
    """
    gc.collect()
    return_freed()


def return_freed() -> None:
    """Gives memory that is free back to the system: between what is in use, the C library would keep it."""
    _trim()(0)


@contextlib.contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Stops the garbage collector: live objects are never garbage, and searching many of them takes long."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@functools.cache
def _trim() -> Callable[[int], object]:
    with contextlib.suppress(OSError, AttributeError):
        return ctypes.CDLL(None).malloc_trim
    return lambda _: None
