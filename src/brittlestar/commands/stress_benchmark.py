"""Puts the policies of the zoo under stress, ranks them, draws the figures, and writes docs/stress_benchmark.md."""

from __future__ import annotations

import os


def main() -> None:
    """Keeps each process to one core, then runs."""
    # Before numpy is imported.
    os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    from brittlestar.studies.stress.page.main import main as run

    run()
