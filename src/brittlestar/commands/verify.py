"""Checks every recorded cell of a store or of sweeps against its digests."""

from pathlib import Path

from brittlestar.commands.terminal import Parser, command
from brittlestar.errors import UserError, counted

_MOST = 20


@command
def main() -> None:
    """Prints what is damaged or missing; ends with code 1 if anything is, unless the sweep still runs."""
    parser = Parser("brittlestar verify", __doc__)
    parser.add_argument("folders", nargs="+", type=Path, metavar="DIR", help="a store, or a folder of sweeps")
    folders = parser.parse_args().folders
    from brittlestar.results.verify import verify
    from brittlestar.sweeps.progress import LiveLine

    cells, line = 0, LiveLine()
    damaged, partial = list[str](), list[str]()
    for folder in folders:
        for check in verify(folder):
            cells += check.missing is None
            if check.missing is not None and check.missing.runs:
                print(f"note: {check.problem}")
            elif check.problem:
                (damaged if check.missing is None else partial).append(f"  {check.name}: {check.problem}")
            if line.is_due:
                line.draw(f"{cells} cells checked, {len(damaged)} damaged")
    line.close(clear=True)
    if damaged or partial:
        remedy = "a damaged cell of a store is computed again by the next sweep that needs it"
        heads = [f"{len(damaged)} of {counted(cells, 'cell')} damaged; {remedy}"] if damaged else []
        heads += [f"{counted(len(partial), 'sweep')} without all cells"] if partial else []
        texts = damaged + partial
        more = [f"  and {len(texts) - _MOST} more"] if len(texts) > _MOST else []
        raise UserError("\n".join(["; ".join(heads), *texts[:_MOST], *more]))
    print(f"{counted(cells, 'cell')}, all as they were written")
