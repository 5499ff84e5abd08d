"""Prints speeds, their ratios and the bars they are held to, from one run on this machine: `make bench`."""

from __future__ import annotations

import os


def main() -> None:
    """Keeps each process to one core, then runs."""
    # Before numpy is imported.
    os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    from brittlestar.studies.speed.main import main as run

    run()
