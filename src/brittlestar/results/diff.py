"""What changed between two sweeps of one study: curve by curve and level by level, paired where episodes are shared."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from brittlestar.cells.record import DamagedCellError
from brittlestar.errors import UserError, nearest
from brittlestar.results.aggregate import split_cells
from brittlestar.results.compare import HIGHER_IS_BETTER, sides_of
from brittlestar.results.difference import Sides, curve_difference, curve_test, level_difference
from brittlestar.results.format import text
from brittlestar.results.gate_curves import metrics_of
from brittlestar.results.grouping import BACKEND, CellValues, group, sort_key
from brittlestar.results.left_out import missing_notes
from brittlestar.results.load import Cell, Row, read_cells
from brittlestar.statistics.hypothesis_tests import SIGNIFICANCE, holm

REGRESSION, GAIN, CHANGED, UNDECIDED_CHANGE, SAME = "regression", "gain", "changed", "not decided", "same"
WHOLE_CURVE = "all"
"""The level of a row that is about the area under the curve."""
_ARROW = "→"


class SweepCurve(NamedTuple):
    """The cells of one curve, and its name in both sweeps."""

    name: str
    cells: list[Cell]


@dataclass
class SweepDiff:
    """`rows` has a row per curve, measure and level, and one for the area; all are new minus old."""

    rows: list[Row] = field(default_factory=list)
    only_old: list[str] = field(default_factory=list)
    only_new: list[str] = field(default_factory=list)
    changes: list[str] = field(default_factory=list)
    """What differs in config, versions and backends."""
    notes: list[str] = field(default_factory=list)

    def count(self, verdict: str) -> int:
        """Returns how many comparisons ended so."""
        return sum(row["verdict"] == verdict for row in self.rows)


def diff(old: Path, new: Path, measures: list[str] | None = None) -> SweepDiff:
    """Compares the curves of two sweeps that have the same name, at the levels that both have.

    `measures` are columns of the tables; without any, the headline of the environment. Holm's method adjusts the p
    values of all comparisons together.
    """
    sweeps, result = [read_cells(folder) for folder in (old, new)], SweepDiff()
    for folder, cells in zip((old, new), sweeps, strict=True):
        result.notes += missing_notes(folder, cells)
    old_curves, new_curves = _curves(old, new, *sweeps)
    pairs = [(curve, new_curves[key]) for key, curve in old_curves.items() if key in new_curves]
    result.only_old = [f"curve {curve.name}" for key, curve in old_curves.items() if key not in new_curves]
    result.only_new = [f"curve {curve.name}" for key, curve in new_curves.items() if key not in old_curves]
    if not pairs:
        names = [", ".join(f"`{curve.name}`" for curve in side.values()) for side in (old_curves, new_curves)]
        raise UserError(f"no curve is in both sweeps: {old} has {names[0]}, {new} has {names[1]}")
    for before, after in pairs:
        _add(result, before, after, measures)
    if not result.rows:
        raise UserError(f"nothing can be compared: {'; '.join(result.notes)}")
    p_values = holm([np.nan if row["p"] is None else row["p"] for row in result.rows])
    for row, p in zip(result.rows, p_values, strict=True):
        row["p_holm"] = None if np.isnan(p) else float(p)
        row["verdict"] = row["verdict"] or _verdict(row)
    return result


def _curves(old: Path, new: Path, *sweeps: list[Cell]) -> Iterator[dict[tuple, SweepCurve]]:
    """Returns the curves of both sweeps by what varied in one of them."""
    sides = []
    for folder, every in zip((old, new), sweeps, strict=True):
        sides.append(split_cells(cell for cell in every if cell.done and cell.role is None))
        if not sides[-1]:
            raise UserError(f"{folder} holds no finished cell")
    varied = dict.fromkeys(column for cells in sides for column in _varied(cells))
    values = [{column: CellValues(cells).of(column) for column in varied} for cells in sides]
    for cells, columns in zip(sides, values, strict=True):
        members: dict[tuple, SweepCurve] = {}
        for i, cell in enumerate(cells):
            key = tuple(columns[column][i] for column in varied)
            name = ", ".join(f"{c}={text(v)}" for c, v in zip(varied, key, strict=True) if v is not None)
            members.setdefault(key, SweepCurve(name, [])).cells.append(cell)
        yield dict(sorted(members.items(), key=lambda item: sort_key(item[0])))


def _varied(cells: Sequence[Cell]) -> list[str]:
    """Returns the columns in which the curves of one sweep differ; a backend that only some cells have is no name."""
    grouping = group(cells)
    places = [i for i, column in enumerate(grouping.columns) if column != BACKEND]
    return [grouping.columns[i] for i in places if len({label[i] for label in grouping.labels}) > 1]


def _add(result: SweepDiff, old: SweepCurve, new: SweepCurve, measures: list[str] | None) -> None:
    """Adds the comparisons of one curve, and what only one of its sides has."""
    before, after = old.cells, new.cells
    _refuse_other_study(before[0], after[0])
    where = f" of {old.name}" if old.name else ""
    levels = [{cell.strength for cell in cells} for cells in (before, after)]
    result.only_old += [f"level {text(level)}{where}" for level in sorted(levels[0] - levels[1])]
    result.only_new += [f"level {text(level)}{where}" for level in sorted(levels[1] - levels[0])]
    result.changes += [line for line in _changes(before[0], after[0]) if line not in result.changes]
    for measure in measures or [str(after[0].manifest["measure"])]:
        metrics = metrics_of(after[0].manifest["columns"])
        if measure not in metrics:
            raise UserError(f"`--measure {measure}` is not a metric; {nearest(measure, metrics)}")
        try:
            sides = sides_of(after, before, measure, ("the new sweep", "the old sweep"))
        except DamagedCellError:
            raise
        except UserError as error:
            # The other curves remain worth comparing.
            result.notes.append(f"{f'`{old.name}`' if old.name else 'the curve'} is left out: {error}")
            continue
        if not sides.paired:
            note = f"other start states{where}: its tests are unpaired"
            result.notes += [note] if note not in result.notes else []
        start = {"curve": old.name, "measure": measure, "strength_name": after[0].strength_name}
        result.rows += [start | row for row in _rows(sides)]


def _rows(sides: Sides) -> Iterator[Row]:
    for i, strength in enumerate(sides.strengths):
        part = sides.at([i])
        level = level_difference(part)
        p = level["p"] if sides.span.is_event or level["p"] is None else curve_test(part).p_value
        yield _row(strength, part, level | {"p": p})
    valid = [i for i in range(len(sides.strengths)) if _has_values(sides.at([i]))]
    if len(valid) > 1:
        part = sides.at(valid)
        test = curve_test(part)
        row = curve_difference(part)
        yield _row(WHOLE_CURVE, part, row | {"p": test.p_value, "method": f"{test.method}; area, {row['method']}"})


def _has_values(sides: Sides) -> bool:
    return bool(np.isfinite(sides.a).any() and np.isfinite(sides.b).any())


def _row(level: float | str, sides: Sides, row: Row) -> Row:
    counts = (int(np.isfinite(side[0]).sum()) for side in (sides.b, sides.a))
    same = sides.paired and np.array_equal(sides.a, sides.b, equal_nan=True)
    return {
        "level": level, "old": row["b"], "new": row["a"], "difference": row["difference"], "low": row["low"],
        "high": row["high"], **dict(zip(("n_old", "n_new"), counts, strict=True)), "paired": sides.paired,
        "p": None if row["p"] is None or (same and not _has_values(sides)) else row["p"], "p_holm": None,
        "verdict": SAME if same else "", "method": row["method"],
    }  # fmt: skip


def _verdict(row: Row) -> str:
    if row["p_holm"] is None or row["p_holm"] >= SIGNIFICANCE:
        return UNDECIDED_CHANGE
    if row["measure"] not in HIGHER_IS_BETTER:
        return CHANGED
    return GAIN if row["difference"] > 0 else REGRESSION


def _refuse_other_study(old: Cell, new: Cell) -> None:
    for what, values in {
        "environment": [cell.setting("env").get("id") for cell in (old, new)],
        "perturbation": [cell.choice("perturbation") for cell in (old, new)],
        "strength": [cell.strength_name for cell in (old, new)],
    }.items():
        if values[0] != values[1]:
            raise UserError(f"two different studies: the {what} is {values[0]} in OLD, {values[1]} in NEW")


def _changes(old: Cell, new: Cell) -> list[str]:
    """Returns what differs in config, versions and backend of two cells."""
    flats: list[dict[str, Any]] = []
    for cell in (old, new):
        facts = cell.manifest.get("provenance") or {}
        versions = {f"version of {name}": value for name, value in (facts.get("versions") or {}).items()}
        simulator = {f"simulator {name}": value for name, value in (facts.get("simulator") or {}).items()}
        flats.append(cell.flat | versions | simulator | {"commit": facts.get("git")})
    keys = sorted(flats[0].keys() | flats[1].keys())
    return [
        f"{key}: {_shown(flats[0].get(key))} {_ARROW} {_shown(flats[1].get(key))}"
        for key in keys
        if flats[0].get(key) != flats[1].get(key)
    ]


def _shown(value: Any) -> str:
    return "none" if value is None else text(value)
