"""Measures the policies of the zoo on Fetch and writes docs/results.md, beside published figures if they are given."""

from __future__ import annotations

import os
import sys
from pathlib import Path

# Before numpy is imported, as in run.py: what starts here keeps to one core each.
os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
sys.path[0] = str(Path(__file__).resolve().parents[1])

if __name__ == "__main__":
    from brittlestar.studies.results_page.main import main

    main()
