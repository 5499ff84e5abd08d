"""Ranks the agents of stress sweeps: tables, LaTeX, correlations and figures."""

from brittlestar.commands.arguments import read_sweeps
from brittlestar.commands.terminal import Parser, command


@command
def main() -> None:
    """Writes the leaderboard and prints it."""
    parser = Parser("brittlestar leaderboard", __doc__)
    parser.add_argument("--no-figures", action="store_true", help="write tables only")
    options, folders, settings = read_sweeps(parser)
    from brittlestar.reports.terminal_text import print_text
    from brittlestar.studies.stress.leaderboard_report import write_leaderboard

    print_text(write_leaderboard(folders, options.out, settings, not options.no_figures), options.out)
