"""Tests whether the policy of sweep A is more robust than the policy of sweep B."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from brittlestar.commands.terminal import Parser, command
from brittlestar.errors import UserError

if TYPE_CHECKING:
    from argparse import Namespace

    from brittlestar.results.compare import Comparison
    from brittlestar.results.load import Cell


@command
def main() -> None:
    """Compares two curves and prints the table and the verdict."""
    options = _parser().parse_args()
    from brittlestar.results.compare import choose_curve, compare_cells
    from brittlestar.results.left_out import missing_notes
    from brittlestar.results.load import load_cells

    if options.range and not options.sequential:
        raise UserError("`--range` is for `--sequential`")
    if options.out and options.sequential:
        raise UserError("`--out` is the folder of the page, which `--sequential` does not write")
    if options.range and not options.range[0] < options.range[1]:
        raise UserError(f"`--range` must be two numbers, the least first, got {options.range}")
    cells = {folder: load_cells([folder], mixed=True) for folder in (options.a, options.b)}
    notes = [note for folder, every in cells.items() for note in missing_notes(Path(folder), every)]
    a, b = (
        choose_curve(folder, where, cells[folder])
        for folder, where in ((options.a, options.where_a), (options.b, options.where_b))
    )
    names = " ".join([options.a, *options.where_a]), " ".join([options.b, *options.where_b])
    if options.sequential:
        _print_sequential(a, b, names, options, notes)
        return
    result = compare_cells(a, b, names, options.measure, notes)
    page = _write_page(result, a, b, options.out, Path(options.a) / "comparison")
    if options.json:
        print(json.dumps(vars(result), indent=1))
        return
    _print(result, page)


def _parser() -> Parser:
    parser = Parser("brittlestar compare", __doc__)
    parser.add_argument("a", metavar="DIR_A", help="sweep folder")
    parser.add_argument("b", metavar="DIR_B", help="sweep folder; may be DIR_A with other conditions")
    parser.add_argument("--where-a", action="append", default=[], metavar="COLUMN=VALUE", help="choose a curve of A")
    parser.add_argument("--where-b", action="append", default=[], metavar="COLUMN=VALUE", help="choose a curve of B")
    parser.add_argument("--measure", help="metric to compare (default: the headline metric of the environment)")
    parser.add_argument("--sequential", action="store_true", help="tests that hold at every look, pair by pair")
    parser.add_argument(
        "--range",
        nargs=2,
        type=float,
        metavar=("LOW", "HIGH"),
        help="of the metric, for --sequential",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--out", type=Path, metavar="FOLDER", help="folder of the page, report.html (default DIR_A/comparison)"
    )
    return parser


def _print(result: Comparison, page: str) -> None:
    from brittlestar.reports.terminal_text import print_text
    from brittlestar.results.compare import verdict
    from brittlestar.results.format import bounded, markdown

    episodes = "the same episodes: paired tests" if result.paired else "different episodes: unpaired tests"
    print(f"A = {result.names[0]}\nB = {result.names[1]}\n{result.measure}, {episodes}")
    print(f"note: {result.note}\n" if result.note else "")
    print_text(markdown(result.levels, result.levels[0]))
    print(f"\npage: {page}")
    curve = result.curve
    difference = bounded(curve["difference"], curve["low"], curve["high"], "+.4f")
    means = f"A {curve['a']:.4f}, B {curve['b']:.4f}, difference {difference}"
    print(f"over the curve: {means} ({curve['method']})\n{verdict(result)}")


def _print_sequential(
    a: list[Cell], b: list[Cell], names: tuple[str, str], options: Namespace, notes: list[str]
) -> None:
    """Compares by tests that hold at every look, and prints why the others do not."""
    from brittlestar.reports.terminal_text import print_text
    from brittlestar.results.format import markdown
    from brittlestar.results.left_out import unshared_notes
    from brittlestar.results.sequential import PEEKING, compare_sequentially

    limits = (options.range[0], options.range[1]) if options.range else None
    result = compare_sequentially(a, b, names, options.measure, limits)
    note = "; ".join([*notes, *unshared_notes(a, b, paired=True)])
    if options.json:
        print(json.dumps(vars(result) | {"verdict": result.verdict, "note": note}, indent=1))
        return
    print("\n".join([f"A = {names[0]}", f"B = {names[1]}", *([f"note: {note}"] if note else [])]))
    print(f"{result.measure}, the same episodes, pair by pair; any wrong decision has a chance of {result.alpha:g}")
    print("a, b and their difference are those of `pairs`: the shared pairs up to the decision\n")
    print_text(markdown(result.levels, result.levels[0]))
    print(f"\n{PEEKING}\n\n{result.verdict}")


def _write_page(result: Comparison, a: list[Cell], b: list[Cell], out: Path | None, default: Path) -> str:
    """Returns the path of the page; why there is none, where only the default folder cannot be written to."""
    from brittlestar.cells.files import make_folder
    from brittlestar.reports.page.comparison import comparison_page
    from brittlestar.reports.page.write import write_page

    folder = out or default
    try:
        make_folder(folder)
        return str(write_page(comparison_page(result, a, b, folder), folder))
    except UserError as error:
        if out is not None:
            raise
        return f"none: {error}"
