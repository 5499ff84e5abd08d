"""Where Arrow takes the memory for tables from."""

import contextlib
from collections.abc import Iterator

import pyarrow as pa


@contextlib.contextmanager
def system_memory() -> Iterator[None]:
    """Has Arrow take memory from the C library, whose peak is 20 to 40 MB lower than that of its own allocator."""
    pool = pa.default_memory_pool()
    pa.set_memory_pool(pa.system_memory_pool())
    try:
        yield
    finally:
        pa.set_memory_pool(pool)
