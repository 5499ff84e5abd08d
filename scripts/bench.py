"""Prints speeds, their ratios and the bars they are held to, from one run on this machine: `make bench`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

# Before numpy is imported: one core for each process that is measured.
os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
sys.path[0] = str(Path(__file__).resolve().parents[1])

if __name__ == "__main__":
    from brittlestar.studies.speed.main import main

    main()
