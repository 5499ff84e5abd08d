"""The curves that a requirement of a gate is about: chosen by name, and paired where it compares two."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import NamedTuple

from brittlestar.cells.identity import LABEL
from brittlestar.errors import UserError, nearest
from brittlestar.results.aggregate import Tables, split_cells
from brittlestar.results.format import text
from brittlestar.results.grouping import group
from brittlestar.results.load import RATES, ROW_KEYS, Cell, Row
from brittlestar.results.requirements import Quantity, Requirement, metric_of
from brittlestar.results.rows import group_rows

_OF_MODEL = (LABEL, "policy", "env")
"""What the name of a model covers."""
_MOST_LEVELS = 10


@dataclass(frozen=True)
class JudgedCurve:
    """A curve as a requirement sees it: its label, its name, its levels and the measures of its summary.

    `headline` is the measure of a function that names none.
    """

    label: Row
    name: str
    levels: list[float]
    measures: list[str]
    headline: str

    def level(self, wanted: float) -> float:
        """Returns the level of the curve that a requirement names; raises a `UserError` if there is none."""
        for level in self.levels:
            if math.isclose(level, wanted, rel_tol=1e-9, abs_tol=1e-12):
                return level
        where, near = f"`{self.name}`" if self.name else "the curve", self.levels
        kind = "levels" if len(near) <= _MOST_LEVELS else f"the nearest of {len(near)} levels"
        near = sorted(sorted(near, key=lambda level: abs(level - wanted))[:_MOST_LEVELS])
        raise UserError(f"{where} has no level {text(wanted)}; {kind}: {', '.join(map(text, near))}")

    def measure(self, wanted: str | None) -> str:
        """Returns the measure of a function; a curve with one success has it under both names."""
        if wanted is None or (wanted in RATES and self.measures == [self.headline] and self.headline in RATES):
            return self.headline
        if wanted not in self.measures:
            raise UserError(
                f"the summary has no `{wanted}`, only {', '.join(self.measures)}; `{wanted}@LEVEL` is judged at a level"
            )
        return wanted


class Judged(NamedTuple):
    """The curve of a requirement, and the one that it is compared with."""

    curve: JudgedCurve
    other: JudgedCurve | None = None


def judged_curves(tables: Tables) -> list[JudgedCurve]:
    """Returns the curves of finished tables."""
    columns = tables.grouping.columns
    headlines = {label: cells[-1].manifest["measure"] for label, cells in tables.members().items()}
    summary, rows = (group_rows(table, columns) for table in (tables.summary, tables.curve))
    name, curves = _namer(columns, rows), []
    for key, points in rows.items():
        levels, measures = [row["strength"] for row in points], [row["measure"] for row in summary[key]]
        curves.append(JudgedCurve(dict(zip(columns, key, strict=True)), name(key), levels, measures, headlines[key]))
    return curves


def planned_curves(cells: Sequence[Cell]) -> list[JudgedCurve]:
    """Returns the curves that cells without results will have."""
    cells = split_cells(cells)
    grouping = group(cells)
    members: dict[tuple, list[Cell]] = {}
    for label, cell in zip(grouping.labels, cells, strict=True):
        members.setdefault(label, []).append(cell)
    name, curves = _namer(grouping.columns, members), []
    for key, group_cells in members.items():
        levels, headline = sorted({cell.strength for cell in group_cells}, key=abs), group_cells[0].manifest["measure"]
        measures = list(RATES) if headline in RATES else [headline]
        row = dict(zip(grouping.columns, key, strict=True))
        curves.append(JudgedCurve(row, name(key), levels, measures, headline))
    return curves


def metrics_of(columns: Iterable[str]) -> list[str]:
    """Returns the columns of an episode row that are metrics."""
    return [name for name in columns if name not in ROW_KEYS]


def choose_curves(requirement: Requirement, curves: list[JudgedCurve], metrics: Iterable[str]) -> list[Judged]:
    """Returns the curves that a requirement is about; raises a `UserError` for what the sweep does not have."""
    try:
        chosen = _chosen(requirement, curves, [*metrics])
        for judged in chosen:
            for curve in filter(None, judged):
                _check(requirement.left, curve, metrics)
    except UserError as error:
        raise UserError(f"`{requirement.text}`: {error}") from None
    return chosen


def _check(quantity: Quantity, curve: JudgedCurve, metrics: Iterable[str]) -> None:
    if quantity.level is not None:
        curve.level(quantity.level)
        return
    curve.measure(metric_of(quantity, metrics))
    if len(curve.levels) < 2:
        where = f"`{curve.name}` has" if curve.name else "the sweep has"
        raise UserError(f"`{quantity.name}` is of a curve, and {where} one level")


def _chosen(requirement: Requirement, curves: list[JudgedCurve], metrics: list[str]) -> list[Judged]:
    if not curves:
        raise UserError("no cell has a result")
    left = _matches(requirement.left, curves, metrics)
    if requirement.right is None:
        return [Judged(curve) for curve, _ in left]
    right = _matches(requirement.right, curves, metrics)
    return [Judged(curve, _partner(curve, tops, right)) for curve, tops in left]


def _matches(quantity: Quantity, curves: list[JudgedCurve], metrics: list[str]) -> list[tuple[JudgedCurve, set[str]]]:
    """Returns the curves that all names of a quantity describe, each with the groups that the names are about."""
    metric = metric_of(quantity, metrics)
    names = [word for word in quantity.arguments if word != metric]
    level = quantity.level
    matches = []
    for curve in curves:
        columns = [_columns(name, curve) for name in names]
        side = curve.label.get("direction") if level else None
        if all(columns) and side in (None, "down" if (level or 0) < 0 else "up"):
            matches.append((curve, {top for found in columns for top in found}))
    if matches:
        return matches
    known = {name for curve in curves for column in curve.label for name in _names(curve, column)}
    for name in names:
        if name not in known:
            raise UserError(f"there is no curve `{name}`; {nearest(name, _short(known, curves))}")
    all_names = " and ".join(f"`{name}`" for name in names)
    raise UserError(f"no curve is {all_names}" if names else "no curve has this level")


def _columns(name: str, curve: JudgedCurve) -> set[str]:
    """Returns the config groups of a curve that have this name."""
    return {column.partition(".")[0] for column in curve.label if name in _names(curve, column)}


def _names(curve: JudgedCurve, column: str) -> set[str]:
    """Returns the names by which a requirement can call the value of a column."""
    value = curve.label[column]
    if value is None:
        return set()
    path = PurePosixPath(str(value))
    values = {value, path.name, path.stem} if isinstance(value, str) else {text(value), str(value)}
    return {*values, *(f"{key}={v}" for key in (column, column.rpartition(".")[2]) for v in values)}


def _short(known: set[str], curves: list[JudgedCurve]) -> list[str]:
    """Returns the names to suggest: those of the columns that vary."""
    varied = [c for c in curves[0].label if len({text(curve.label[c]) for curve in curves}) > 1]
    names = {text(curve.label[c]) for curve in curves for c in varied if curve.label[c] is not None}
    return sorted(names or known)


def _partner(curve: JudgedCurve, tops: set[str], right: list[tuple[JudgedCurve, set[str]]]) -> JudgedCurve:
    """Returns the curve that differs from another one only in what the names of both are about."""
    partners = []
    for other, other_tops in right:
        about = tops | other_tops
        about |= set(_OF_MODEL) if LABEL in about else set()
        if other is not curve and all(
            other.label[c] == value for c, value in curve.label.items() if c.partition(".")[0] not in about
        ):
            partners.append(other)
    if len(partners) == 1:
        return partners[0]
    if not partners:
        raise UserError(f"`{curve.name}` has no curve to be compared with: name two curves, as in `auc(b) >= auc(a)`")
    names = "; ".join(other.name for other in partners[:5])
    raise UserError(f"`{curve.name}` could be compared with several curves: {names}; add a name: `auc(a, NAME)`")


def _namer(columns: Sequence[str], keys: Iterable[tuple]) -> Callable[[tuple], str]:
    """Returns a function that names curves by the columns that vary."""
    keys = list(keys)
    varied = [i for i in range(len(columns)) if len({key[i] for key in keys}) > 1]
    return lambda key: ", ".join(f"{columns[i]}={text(key[i])}" for i in varied if key[i] is not None)
