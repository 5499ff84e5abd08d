"""Checks every recorded cell of a store or of sweeps against its digests; tables, plots and pages have none."""

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
    damaged, indexes, partial = list[str](), list[str](), list[str]()
    for folder in folders:
        for check in verify(folder):
            cells += check.is_cell
            if check.missing is not None and check.missing.runs:
                print(f"note: {check.problem}")
            elif check.problem:
                texts = damaged if check.is_cell else partial if check.missing else indexes
                texts.append(f"  {check.name}: {check.problem}")
            if line.is_due:
                line.draw(f"{cells} cells checked, {len(damaged)} damaged")
    line.close(clear=True)
    if texts := damaged + indexes + partial:
        heads = [f"{len(damaged)} of {counted(cells, 'cell')} damaged"] if damaged else []
        heads += [f"{counted(len(indexes), 'index', 'indexes')} damaged"] if indexes else []
        heads += [f"{counted(len(partial), 'sweep')} without all cells"] if partial else []
        heads += ["the next sweep that needs a damaged cell of a store computes it again"] if damaged else []
        heads += ["the command of a sweep makes its folder again"] if damaged or indexes else []
        more = [f"  and {len(texts) - _MOST} more"] if len(texts) > _MOST else []
        raise UserError("\n".join(["; ".join(heads), *texts[:_MOST], *more]))
    print(f"{counted(cells, 'cell')}, all as they were written")
