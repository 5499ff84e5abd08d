"""Prints what a checkpoint or a recorded sweep contains, without running anything in it."""

from pathlib import Path

from brittlestar.commands.terminal import Parser, command
from brittlestar.errors import UserError


@command
def main() -> None:
    """Prints algorithm, spaces, layers, statistics and record of a checkpoint, or the cells of a sweep."""
    parser = Parser("brittlestar inspect", __doc__)
    parser.add_argument(
        "path",
        metavar="PATH",
        help="a zip file, a vecnormalize.pkl, a folder of rl-zoo or of a sweep, or zoo/NAME",
    )
    parser.add_argument("--cell", type=int, metavar="N", help="print one cell of a sweep")
    parser.add_argument("--unpack", type=Path, metavar="FOLDER", help="write that cell as JSON and .npy files")
    options = parser.parse_args()
    from brittlestar.reports.inspection import describe_cell, describe_sweep, is_sweep, unpack_cell

    if is_sweep(options.path):
        folder, number = Path(options.path), options.cell
        if options.unpack is not None:
            print(*unpack_cell(folder, 0 if number is None else number, options.unpack), sep="\n")
        else:
            print(describe_sweep(folder) if number is None else describe_cell(folder, number))
        return
    if options.cell is not None or options.unpack is not None:
        raise UserError(f"{options.path} is no folder of a recorded sweep")
    _describe_checkpoint(options.path)


def _describe_checkpoint(path: str) -> None:
    from brittlestar.checkpoints import describe_path
    from brittlestar.policies.zoo.cards import HOME, files, read_card
    from brittlestar.training.zoo_pages import summary

    if path.startswith("zoo/"):
        name = path.removeprefix("zoo/")
        recipe = " ".join(read_card(name)["recipe"])
        print(f"card         {summary(name)}\nrecipe       brittlestar train {recipe}")
        path = str(files(HOME / name)[0])
    print(describe_path(path))
