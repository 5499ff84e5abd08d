"""Ranks the agents of one stress sweep or several: tables, LaTeX, correlations and figures."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import NoReturn

from brittlestar.commands.arguments import split_settings
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
    parser.add_argument("words", nargs="+", metavar="DIR", help="sweep folders; study.KEY=VALUE scores them anew")
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="where to write (default: the first DIR)")
    parser.add_argument("--no-figures", action="store_true", help="draw nothing")
    options = parser.parse_args()
    folders, settings = split_settings(options.words)
    try:
        print(write_leaderboard(folders, options.out or Path(folders[0]), settings, not options.no_figures))
    except UserError as error:
        sys.exit(f"brittlestar: {error}")
