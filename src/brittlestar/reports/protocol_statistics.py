"""The statistics of an evaluation protocol: what is measured, and how each interval is made."""

from __future__ import annotations

from collections.abc import Sequence

from brittlestar.reports.sections import Section
from brittlestar.results.aggregate import Tables
from brittlestar.results.curve_intervals import BRACKET, THRESHOLD, metric_method, point_method, shape_method
from brittlestar.results.grouping import group
from brittlestar.results.load import RATES, Cell, Row
from brittlestar.results.packed_cells import PackedCells
from brittlestar.results.rows import group_rows, measures
from brittlestar.statistics.intervals import LEVEL

_APART = f"- Each interval holds by itself with {100 * LEVEL:g} %; together they are not corrected."


def statistics_lines(tables: Tables, sections: Sequence[Section]) -> list[str]:
    """Returns what the tables of a sweep measure, and the methods of their intervals."""
    names = list(dict.fromkeys(measure for row in tables.curve for measure in measures(row)))
    lines = (
        [f"- Measured: {', '.join(f'`{name}`' for name in names)}; the tables hold every other metric."]
        if names
        else []
    )
    lines += [f"- Intervals of `{name}`: {'; '.join(_methods(tables.curve, f'{name}_method'))}." for name in names]
    if names:
        others = "; ".join(_methods(tables.curve, "metric_interval"))
        lines.append(f"- Intervals of other metrics: {others}.")
    shapes = _methods(tables.summary, "interval_method")
    # One strength is not a curve.
    if shapes and len(group_rows(tables.curve, tables.grouping.columns)) < len(tables.curve):
        lines.append(f"- Intervals of slope and area: {'; '.join(shapes)}.{_crossing(names)}")
    lines += [f"- {method}" for section in sections for method in section.methods]
    if names:
        lines.append(_APART)
    return lines


def planned_lines(cells: PackedCells, counts: list[int]) -> list[str]:
    """Returns the same for cells that have not run, with the numbers of trials behind the rows of their curve."""
    names = list(dict.fromkeys(name for cell in cells.kinds() for name in _planned_measures(cell)))
    if not names:
        return []
    seeds = len({cell.seed for cell in cells})
    lines = [f"- Measured: {', '.join(f'`{name}`' for name in names)}; the tables hold every other metric."]
    for name in names:
        lines.append(f"- Intervals of `{name}`: {'; '.join(point_method(name, seeds, count) for count in counts)}.")
    lines.append(f"- Intervals of other metrics: {'; '.join(metric_method(seeds, count) for count in counts)}.")
    points = {(label, cell.strength) for label, cell in zip(group(cells).labels, cells, strict=True)}
    # One strength is not a curve.
    if len({label for label, _ in points}) < len(points):
        shapes = dict.fromkeys(shape_method(name, seeds, counts[0], counts[-1]) for name in names)
        lines.append(f"- Intervals of slope and area: {'; '.join(shapes)}.{_crossing(names)}")
    return [*lines, _APART]


def _planned_measures(cell: Cell) -> list[str]:
    name = cell.manifest.get("measure")
    # What counts at any step is recorded at the last one, too.
    return list(RATES) if name == "success_any" else [name] if name else []


def _crossing(names: list[str]) -> str:
    if not set(names) & set(RATES):
        return ""
    return f" Critical strength: where the mean falls below {THRESHOLD:g}. {BRACKET}."


def _methods(rows: list[Row], column: str) -> list[str]:
    return sorted({str(row[column]) for row in rows if row.get(column)})
