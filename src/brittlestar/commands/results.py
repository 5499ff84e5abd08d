"""Measures the policies of the zoo on Fetch and writes docs/results.md, beside published figures if they are given."""

from __future__ import annotations

import os


def main() -> None:
    """Keeps each process to one core, then runs."""
    # Before numpy is imported.
    os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    from brittlestar.studies.results_page.main import main as run

    run()
