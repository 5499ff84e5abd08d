"""Shows a sweep that runs elsewhere, from its folder: progress and partial tables, until it ends."""

from pathlib import Path

from brittlestar.commands.terminal import Parser, command


@command
def main() -> None:
    """Shows a sweep until it ends, or once."""
    parser = Parser("brittlestar watch", f"{__doc__} It only reads, so it may run anywhere that sees the folder.")
    parser.add_argument("folder", metavar="DIR", help="folder of a sweep")
    parser.add_argument("--once", action="store_true", help="print the state and the tables so far, and end")
    options = parser.parse_args()
    from brittlestar.reports.watching import watch_sweep

    watch_sweep(Path(options.folder), options.once)
