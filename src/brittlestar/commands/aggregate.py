"""Writes tables, plots and report of one sweep or several again."""

from brittlestar.commands.arguments import read_sweeps
from brittlestar.commands.terminal import Parser, command
from brittlestar.errors import UserError, counted


@command
def main() -> None:
    """Aggregates the sweeps and prints the summary."""
    parser = Parser("brittlestar aggregate", __doc__)
    parser.add_argument("--mixed", action="store_true", help="put sweeps of different studies into one table")
    options, folders, settings = read_sweeps(parser)
    from brittlestar.reports.drawer import start_drawer

    start_drawer()
    from brittlestar.reports.summary import summarise
    from brittlestar.reports.terminal_text import print_text

    tables, overview, errors = summarise(folders, options.out, options.mixed, settings)
    print_text(overview, options.out)
    if tables.failures:
        errors.insert(0, f"{counted(len(tables.failures), 'cell')} failed, see {options.out / 'failures.csv'}")
    if errors:
        raise UserError("\n".join(errors))
