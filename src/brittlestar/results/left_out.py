"""What a comparison of two sweeps leaves out: cells without a result, and what only one side has."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from brittlestar.errors import counted, listed
from brittlestar.results.load import Cell
from brittlestar.sweeps.missing import missing_cells


def missing_notes(folder: Path, cells: Iterable[Cell]) -> list[str]:
    """Returns notes on the cells of a sweep that failed, and on those that have no record."""
    failed = sum(not cell.done for cell in cells)
    notes = [f"{counted(failed, 'cell')} of {folder} failed, left out"] if failed else []
    return notes + [f"{missing}, left out" for missing in missing_cells(folder)]


def unshared_notes(a: Sequence[Cell], b: Sequence[Cell], paired: bool) -> list[str]:
    """Returns notes on strengths and seeds of two curves that a comparison of them does not use."""
    strengths = {cell.strength for cell in a} & {cell.strength for cell in b}
    notes, seeds = list[str](), list[set[int]]()
    for side, cells in (("A", a), ("B", b)):
        alone = sorted({cell.strength for cell in cells} - strengths)
        notes += [f"only {side} has {listed('strength', (f'{s:g}' for s in alone))}, left out"] if alone else []
        places = {(cell.seed, cell.strength) for cell in cells}
        every = {cell.seed for cell in cells}
        seeds.append({seed for seed in every if all((seed, strength) in places for strength in strengths)})
        partial = sorted(every - seeds[-1])
        notes += [f"{listed('seed', partial)} of {side} lacks some strength, left out"] if partial else []
    for side, alone_seeds in (("A", seeds[0] - seeds[1]), ("B", seeds[1] - seeds[0])):
        notes += [f"only {side} has {listed('seed', sorted(alone_seeds))}, left out"] if paired and alone_seeds else []
    return notes
