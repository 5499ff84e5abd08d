"""Imports what tables and plots need before a sweep ends."""

import contextlib
import importlib

_MODULES = (
    "brittlestar.reports.summary", "scipy.special", "pyarrow.parquet", "pyarrow.compute", "pyarrow.csv",
    "matplotlib.backends.backend_agg", "matplotlib.backends.backend_pdf",
)  # fmt: skip


def import_table_modules() -> None:
    """Imports the modules, which takes a second; a sweep does so while its workers run."""
    # An error here only costs time, as a program that ends cannot import all modules: what needs one imports it again.
    with contextlib.suppress(Exception):
        for name in _MODULES:
            importlib.import_module(name)
