"""Writes tables, plots and report of one sweep or several again."""

from pathlib import Path

from brittlestar.commands.arguments import split_settings
from brittlestar.commands.terminal import Parser, command
from brittlestar.errors import UserError, counted


@command
def main() -> None:
    """Aggregates the sweeps and prints the summary."""
    parser = Parser("brittlestar aggregate", __doc__)
    parser.add_argument("words", nargs="+", metavar="DIR", help="sweep folders; study.KEY=VALUE scores them again")
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="folder of the output (default: the first DIR)")
    parser.add_argument("--mixed", action="store_true", help="put sweeps of different studies into one table")
    options = parser.parse_intermixed_args()
    folders, settings = split_settings(options.words)
    from brittlestar.reports.summary import summarise

    out = options.out or Path(folders[0])
    tables, overview, errors = summarise(folders, out, options.mixed, settings)
    print(overview)
    count = len(tables.failures)
    failed = [f"{counted(count, 'cell')} failed, see {out / 'failures.csv'}"] if count else []
    if failed or errors:
        raise UserError("\n".join([*failed, *errors]))
