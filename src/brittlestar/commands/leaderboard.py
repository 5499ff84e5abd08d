"""Ranks the agents of stress sweeps: tables, LaTeX, correlations and figures."""

from pathlib import Path

from brittlestar.commands.arguments import split_settings
from brittlestar.commands.terminal import Parser, command


@command
def main() -> None:
    """Writes the leaderboard and prints it."""
    parser = Parser("brittlestar leaderboard", __doc__)
    parser.add_argument("words", nargs="+", metavar="DIR", help="sweep folders; study.KEY=VALUE scores them again")
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="folder of the output (default: the first DIR)")
    parser.add_argument("--no-figures", action="store_true", help="write tables only")
    options = parser.parse_intermixed_args()
    folders, settings = split_settings(options.words)
    from brittlestar.studies.stress.leaderboard_report import write_leaderboard

    print(write_leaderboard(folders, options.out or Path(folders[0]), settings, not options.no_figures))
