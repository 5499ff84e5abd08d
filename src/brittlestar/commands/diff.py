"""Lists what became worse or better between two sweeps of one study."""

import sys
from pathlib import Path

from brittlestar.commands.terminal import GATE_CODES, Parser, command


@command
def main() -> None:
    """Compares two sweeps, prints the differences, and ends with code 3 if something became worse."""
    parser = Parser("brittlestar diff", f"{__doc__} Exit codes: 0 without a regression, 3 with one, 1 error.")
    parser.add_argument("old", metavar="OLD", type=Path, help="sweep folder")
    parser.add_argument("new", metavar="NEW", type=Path, help="sweep folder")
    parser.add_argument(
        "--measure", action="append", help="metric to compare, may be repeated (default: the headline metric)"
    )
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="also write diff.md, diff.csv and diff.json there")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    from brittlestar.reports.diff_page import diff_json, diff_markdown, write_diff
    from brittlestar.results.diff import REGRESSION, diff

    result = diff(options.old, options.new, options.measure)
    page = diff_markdown(result, str(options.old), str(options.new))
    if options.out is not None:
        write_diff(result, page, options.out)
    print(diff_json(result) if options.json else page, end="")
    sys.exit(GATE_CODES["failed"] if result.count(REGRESSION) else 0)
