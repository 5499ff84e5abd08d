"""Rebuilds tables, plot and report from one sweep or several."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from brittlestar.commands.terminal import quiet_end
from brittlestar.errors import UserError
from brittlestar.reports.summary import summarise


@quiet_end
def main() -> None:
    """Parses the command line and aggregates."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", metavar="DIR", help="sweep folders")
    parser.add_argument("--out", type=Path, help="where to write (default: the first DIR)")
    parser.add_argument("--mixed", action="store_true", help="put sweeps of different studies into one table")
    parser.add_argument("--scoring", help="how to score stress phases: rigorous, compat_1_4 or compat_1_0")
    parser.add_argument("--alpha", type=float, help="accepted false-alarm rate of --scoring rigorous")
    options = parser.parse_args()
    try:
        out = options.out or Path(options.folders[0])
        tables, shown = summarise(options.folders, out, options.mixed, options.scoring, options.alpha)
    except UserError as error:
        sys.exit(f"brittlestar: {error}")
    print(shown)
    if tables.failures:
        sys.exit(f"brittlestar: {len(tables.failures)} cells failed, see failures.csv")
