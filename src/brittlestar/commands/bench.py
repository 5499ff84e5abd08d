"""Prints speeds, their ratios and the bars they are held to, from one run on this machine: `make bench`."""

from __future__ import annotations

import argparse
import os


def main() -> None:
    """Measures and prints; the exit code does not depend on the figures."""
    # Before numpy is imported.
    os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    from brittlestar.studies.speed.sections import SECTIONS, print_speeds

    parser = argparse.ArgumentParser(description="Speeds and ratios, measured on this machine.")
    parser.add_argument("--only", metavar="NAME", choices=SECTIONS, help=f"one of {', '.join(SECTIONS)}")
    parser.add_argument("--quick", action="store_true", help="less work and fewer rounds: rougher figures")
    options = parser.parse_args()
    print_speeds(options.only, options.quick)
