"""Imports what tables and plots need before a sweep ends."""

import importlib

_MODULES = (
    "brittlestar.reports.summary", "scipy.special", "pyarrow.parquet", "pyarrow.compute", "pyarrow.csv",
    "matplotlib.backends.backend_agg", "matplotlib.backends.backend_pdf",
)  # fmt: skip


def import_table_modules() -> None:
    """Imports the modules, which takes a second; a sweep does so while its workers run."""
    for name in _MODULES:
        importlib.import_module(name)
