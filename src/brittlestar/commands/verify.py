"""Checks every recorded cell of a store or of sweeps against its digests."""

from pathlib import Path

from brittlestar.commands.terminal import Parser, command
from brittlestar.errors import UserError, counted

_MOST = 20


@command
def main() -> None:
    """Prints what is damaged; ends with code 1 if anything is."""
    parser = Parser("brittlestar verify", __doc__)
    parser.add_argument("folders", nargs="+", type=Path, metavar="DIR", help="a store, or a folder of sweeps")
    folders = parser.parse_args().folders
    from brittlestar.results.verify import verify
    from brittlestar.sweeps.progress import LiveLine

    cells, line = 0, LiveLine()
    damaged, missing = list[str](), list[str]()
    for folder in folders:
        for check in verify(folder):
            cells += 1
            if check.problem:
                (missing if check.is_missing else damaged).append(f"  {check.name}: {check.problem}")
            if line.is_due:
                line.draw(f"{cells} cells checked, {len(damaged)} damaged")
    line.close(clear=True)
    for text in missing:
        print(f"note:{text[1:]}")
    if damaged:
        more = [f"  and {len(damaged) - _MOST} more"] if len(damaged) > _MOST else []
        remedy = "a damaged cell of a store is computed again by the next sweep that needs it"
        head = f"{len(damaged)} of {counted(cells, 'cell')} damaged; {remedy}"
        raise UserError("\n".join([head, *damaged[:_MOST], *more]))
    print(f"{counted(cells - len(missing), 'cell')}, all as they were written")
