"""Is A more robust than B? Strength by strength and over the curve, paired where the episodes are shared."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from brittlestar.errors import UserError, nearest
from brittlestar.results.curve_grid import CurveGrid, backend_of, grid_sides
from brittlestar.results.difference import Difference, LevelDifference, Sides, curve_difference, level_difference
from brittlestar.results.grouping import group
from brittlestar.results.left_out import unshared_notes
from brittlestar.results.load import RATES, ROW_KEYS, Cell, load_cells
from brittlestar.statistics.hypothesis_tests import holm

HIGHER_IS_BETTER = (*RATES, "dwell", "return", "normalised_return", "completion_fraction")
"""Measures of which more is better. A difference in another one names no winner."""
_LISTED = 10


@dataclass
class Comparison:
    """`levels` has a row per strength, `curve` the difference over the whole curve; both are A minus B."""

    names: tuple[str, str]
    measure: str
    paired: bool
    levels: list[LevelDifference]
    curve: Difference
    note: str = ""
    """What a reader should know about the two sides; empty for nothing."""


def compare(folder_a: str, folder_b: str, where_a: list[str], where_b: list[str], measure: str | None) -> Comparison:
    """Compares one curve of each folder; conditions `column=value` choose it.

    `measure` is the column to compare; None takes the headline of the environment.
    """
    names = " ".join([folder_a, *where_a]), " ".join([folder_b, *where_b])
    return compare_cells(choose_curve(folder_a, where_a), choose_curve(folder_b, where_b), names, measure)


def compare_cells(
    a: list[Cell], b: list[Cell], names: tuple[str, str], measure: str | None = None, notes: Sequence[str] = ()
) -> Comparison:
    """Compares the finished cells of two curves; see `compare`. `notes` go before those on the curves."""
    measure = measure or str(a[0].manifest["measure"])
    sides = shared_values(a, b, measure)
    notes = [*notes, *unshared_notes(a, b, sides.paired), *_backend_notes(a, b)]
    return compare_values(sides, names, measure, "; ".join(notes))


def compare_values(sides: Sides, names: tuple[str, str], measure: str, note: str = "") -> Comparison:
    """Compares the values of two curves at their shared strengths."""
    levels = [level_difference(sides.at([i])) for i in range(len(sides.strengths))]
    for row, adjusted in zip(levels, holm([row["p"] for row in levels]), strict=True):
        row["p_holm"] = None if np.isnan(adjusted) else float(adjusted)
    return Comparison(names, measure, sides.paired, levels, _over_curve(sides), note)


def shared_values(a: list[Cell], b: list[Cell], measure: str) -> Sides:
    """Returns the values of two curves at the strengths that both have, over all seeds without a hole."""
    check_axes(a, b, measure)
    return sides_of(a, b, measure)


def check_axes(a: Sequence[Cell], b: Sequence[Cell], measure: str) -> None:
    """Raises a `UserError` if two curves are not over one axis, or lack the measure."""
    axes = [{"environment": cells[0].config["env"].get("id"), "strength": cells[0].strength_name} for cells in (a, b)]
    for axis in axes[0]:
        if axes[0][axis] != axes[1][axis]:
            raise UserError(f"A has the {axis} {axes[0][axis]}, B {axes[1][axis]}: compare curves over one {axis}")
    metrics = [name for name in a[0].manifest["columns"] if name not in ROW_KEYS]
    if measure not in metrics:
        raise UserError(f"`measure` {measure!r} is not a metric; {nearest(measure, metrics)}")


def sides_of(a: list[Cell], b: list[Cell], measure: str, names: tuple[str, str] = ("A", "B")) -> Sides:
    """Returns a measure of the cells of two curves at the strengths that both have."""
    return grid_sides(CurveGrid(a, measure), CurveGrid(b, measure), names)


def _backend_notes(a: list[Cell], b: list[Cell]) -> list[str]:
    """Returns a note on two sides that ran on different backends."""
    backends = [" and ".join(sorted({backend_of(cell) for cell in cells})) for cells in (a, b)]
    if backends[0] == backends[1]:
        return []
    return [f"A ran on {backends[0]}, B on {backends[1]}, which have other start states: the tests are unpaired"]


def verdict(comparison: Comparison) -> str:
    """Returns the result of a comparison in one line."""
    curve, (a, b) = comparison.curve, comparison.names
    if curve["low"] <= 0 <= curve["high"]:
        return f"no difference between {a} and {b} over the curve can be shown"
    higher, lower = (a, b) if curve["low"] > 0 else (b, a)
    kind = "is more robust" if comparison.measure in HIGHER_IS_BETTER else f"has more {comparison.measure}"
    return f"{higher} {kind} than {lower} over the curve"


def choose_curve(folder: str, where: list[str], every: list[Cell] | None = None) -> list[Cell]:
    """Returns the finished cells of the one curve of a folder that fulfils conditions `column=value`.

    `every` are the cells of the folder, if they are loaded.
    """
    every = load_cells([folder], mixed=True) if every is None else every
    cells = [cell for cell in every if cell.done and cell.role is None]
    if not cells:
        raise UserError(f"{folder} holds no finished cell")
    grouping = group(cells)
    chosen = list(range(len(cells)))
    for condition in where:
        column, equals, value = condition.partition("=")
        if not equals:
            raise UserError(f"a condition is COLUMN=VALUE, got `{condition}`; columns: {', '.join(grouping.columns)}")
        if column not in grouping.columns:
            raise UserError(f"`{column}` did not vary in {folder}; {nearest(column, grouping.columns)}")
        chosen = [i for i in chosen if _equal(grouping.label(i)[column], value)]
    matches = len({grouping.labels[i] for i in chosen})
    if matches != 1:
        labels = list(dict.fromkeys(grouping.labels))
        varied = [j for j in range(len(grouping.columns)) if len({label[j] for label in labels}) > 1] or [0, 1, 2]
        curves = [", ".join(f"{grouping.columns[j]}={label[j]}" for j in varied) for label in labels[:_LISTED]]
        curves += [f"and {len(labels) - _LISTED} more"] if len(labels) > _LISTED else []
        raise UserError(
            f"{folder} has {matches} matching curves, choose one with --where-a/--where-b: {'; '.join(curves)}"
        )
    return [cells[i] for i in chosen]


def _equal(value: object, wanted: str) -> bool:
    try:
        return str(value) == wanted or (isinstance(value, int | float) and value == float(wanted))
    except ValueError:
        return False


def _over_curve(sides: Sides) -> Difference:
    """Difference of the normalised area under the curve, over the strengths where both sides have values."""
    indices = range(len(sides.strengths))
    valid = [i for i in indices if np.isfinite(sides.a[i]).any() and np.isfinite(sides.b[i]).any()]
    if not valid:
        raise UserError("the measure has no value in A or in B at any shared strength")
    row = curve_difference(sides.at(valid))
    what = f"normalised auc over {len(valid)} strengths" if len(valid) > 1 else "mean at one strength"
    row["method"] = f"{what}, {row['method']}"
    return row
