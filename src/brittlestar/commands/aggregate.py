"""Rebuilds tables, plot and report from one sweep or several."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from brittlestar.commands.arguments import split_settings
from brittlestar.commands.terminal import quiet_end
from brittlestar.errors import UserError
from brittlestar.reports.summary import summarise


@quiet_end
def main() -> None:
    """Parses the command line and aggregates."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("words", nargs="+", metavar="DIR", help="sweep folders; study.KEY=VALUE scores them anew")
    parser.add_argument("--out", type=Path, help="where to write (default: the first DIR)")
    parser.add_argument("--mixed", action="store_true", help="put sweeps of different studies into one table")
    options = parser.parse_args()
    folders, settings = split_settings(options.words)
    try:
        tables, shown = summarise(folders, options.out or Path(folders[0]), options.mixed, settings)
    except UserError as error:
        sys.exit(f"brittlestar: {error}")
    print(shown)
    if tables.failures:
        sys.exit(f"brittlestar: {len(tables.failures)} cells failed, see failures.csv")
