"""Prepares tables and pictures before a sweep ends."""

import contextlib
import importlib

from brittlestar.reports.drawer import start_drawer

_MODULES = (
    "brittlestar.reports.summary", "scipy.special", "pyarrow.parquet", "pyarrow.compute", "pyarrow.csv", "jinja2",
    "markdown_it",
)  # fmt: skip


def prepare_report() -> None:
    """Starts the process that draws, and imports what tables need; a sweep does so while its workers run."""
    # An error here only costs time, as a program that ends cannot import all modules: what needs one imports it again.
    with contextlib.suppress(Exception):
        start_drawer()
        for name in _MODULES:
            importlib.import_module(name)
