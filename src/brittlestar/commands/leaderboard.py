"""Ranks the agents of one stress sweep or several: tables, LaTeX, correlations and figures."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import NoReturn

from brittlestar.commands.terminal import quiet_end
from brittlestar.errors import UserError
from brittlestar.studies.stress.leaderboard_report import write_leaderboard


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: error: {message}\n")


@quiet_end
def main() -> None:
    """Parses the command line and ranks."""
    parser = _Parser(description=__doc__)
    parser.add_argument("folders", nargs="+", metavar="DIR", help="sweep folders")
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="where to write (default: the first DIR)")
    parser.add_argument("--scoring", help="rigorous, compat_1_4 or compat_1_0 (default: as the sweeps say)")
    parser.add_argument("--alpha", type=float, help="accepted false-alarm rate of --scoring rigorous")
    parser.add_argument("--no-figures", action="store_true", help="draw nothing")
    options = parser.parse_args()
    try:
        out = options.out or Path(options.folders[0])
        print(write_leaderboard(options.folders, out, options.scoring, options.alpha, not options.no_figures))
    except UserError as error:
        sys.exit(f"brittlestar: {error}")
