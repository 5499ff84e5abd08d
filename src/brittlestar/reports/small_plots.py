"""Small plots of degradation curves in the characters of a terminal."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import NamedTuple

from brittlestar.reports.curve_names import curve_names
from brittlestar.results.aggregate import Tables
from brittlestar.results.format import bounded_column, text
from brittlestar.results.load import RATES, Row
from brittlestar.results.rows import group_rows, measures
from brittlestar.sweeps.screen import cropped, draws_blocks, is_screen, small_curve, terminal_columns

_ROWS, _WIDEST, _NARROWEST = 4, 44, 30
"""Rows of a plot, and its columns with the numbers at its side."""
_MOST = 6
_GAP = "   "
_EMPTY = 0x2800
_DOTS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))
"""The bits of the dots of a braille character, by column and row."""


class PlottedCurve(NamedTuple):
    """A curve: its axes, what it is called, its strengths, and mean, low and high end of the interval at each."""

    axes: str
    title: str
    levels: list[float]
    mean: list[float]
    low: list[float]
    high: list[float]


def terminal_plots(tables: Tables) -> list[str]:
    """Returns small plots of the curves as one text, for a terminal that can show them; else nothing."""
    if not is_screen(sys.stdout):
        return []
    width, names = terminal_columns(sys.stdout), curves_to_plot(tables)
    if not names:
        return []
    shown, what = names[:_MOST], ""
    if not draws_blocks(sys.stdout) or width < _NARROWEST:
        span = _span([value for curve in shown for value in curve.mean])
        shapes = (small_curve(curve.mean, *span, blocks=draws_blocks(sys.stdout)) for curve in shown)
        lines = [cropped(f"{shape}  {curve.title}", width) for shape, curve in zip(shapes, shown, strict=True)]
    else:
        lines, what = _side_by_side(shown, width), ", with intervals"
    heads = dict.fromkeys(curve.axes for curve in shown)
    lines = [f"{', '.join(heads)}{what}", *lines]
    more = [f"{len(names) - _MOST} more curves in the tables and plots"] if len(names) > _MOST else []
    return ["\n".join([*lines, *more])]


def curves_to_plot(tables: Tables) -> list[PlottedCurve]:
    """Returns every curve of more than one strength, by success at the final step or by its only measure."""
    groups = {key: rows for key, rows in group_rows(tables.curve, tables.grouping.columns).items() if len(rows) > 1}
    names = curve_names(tables.grouping.columns, groups)
    curves = []
    for key, rows in groups.items():
        name = next((m for m in measures(rows[0]) if m == RATES[1]), measures(rows[0])[0])
        summary = next((r for r in tables.summary if _is_of(r, tables, key) and r["measure"] == name), {})
        half = bounded_column(summary, "critical_interpolated", missing="none")
        title = ", ".join(filter(None, [names[key], f"critical {half}"]))
        numbers = ([float(row.get(f"{name}{end}") or 0.0) for row in rows] for end in ("", "_low", "_high"))
        axes = f"{name} over {rows[0]['strength_name'] or 'strength'}"
        curves.append(PlottedCurve(axes, title, [float(row["strength"]) for row in rows], *numbers))
    return curves


def _is_of(row: Row, tables: Tables, key: tuple) -> bool:
    return tuple(row[column] for column in tables.grouping.columns) == key


def _side_by_side(curves: Sequence[PlottedCurve], width: int) -> list[str]:
    """Returns the lines of plots, as many side by side as fit."""
    count = max(1, min(len(curves), (width + len(_GAP)) // (_NARROWEST + len(_GAP))))
    each = min(_WIDEST, (width - len(_GAP) * (count - 1)) // count)
    span = _span([value for curve in curves for value in (*curve.mean, *curve.low, *curve.high)])
    lines: list[str] = []
    for first in range(0, len(curves), count):
        plots = [plot_lines(curve, each, span) for curve in curves[first : first + count]]
        lines += [_GAP.join(line.ljust(each) for line in row).rstrip() for row in zip(*plots, strict=True)]
    return lines


def _span(values: Sequence[float]) -> tuple[float, float]:
    """Returns the range of the y axis: that of a rate, or of the numbers where they are none."""
    finite = [value for value in values if math.isfinite(value)] or [0.0]
    return (0.0, 1.0) if min(finite) >= 0 and max(finite) <= 1 else (min(finite), max(finite))


def plot_lines(curve: PlottedCurve, width: int, span: tuple[float, float]) -> list[str]:
    """Draws the mean as a line and each interval as an upright one, with numbers at both axes.

    Example:
        >>> curve = PlottedCurve("success", "p", [0, 0.1, 0.2], [1, 0.4, 0.1], [1, 0.3, 0], [1, 0.5, 0.2])
        >>> for line in plot_lines(curve, 20, (0.0, 1.0)):
        ...     print(line.rstrip(chr(0x2800)))
        p
        1 ⠉⠢⠤⡀
          ⠀⠀⠀⠈⠉⠢⠤⡀
          ⠀⠀⠀⠀⠀⠀⠀⠈⠉⠗⠤⠤⣀⡀
        0 ⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠈⠉⠒⠒⢼
          0      0.1     0.2
    """
    left, right = (text(float(value)) for value in span)
    side = max(len(left), len(right)) + 1
    canvas = _Canvas(width - side, _ROWS)
    levels = [abs(level) for level in curve.levels]
    reach = max(levels) - min(levels) or 1.0
    across = [(level - min(levels)) / reach for level in levels]
    height = (span[1] - span[0]) or 1.0
    mean, low, high = ([(value - span[0]) / height for value in row] for row in (curve.mean, curve.low, curve.high))
    for i, x in enumerate(across):
        canvas.line((x, low[i]), (x, high[i]))
        if i:
            canvas.line((across[i - 1], mean[i - 1]), (x, mean[i]))
    sides = [right, *[""] * (_ROWS - 2), left]
    rows = [f"{label:>{side - 1}} {row}" for label, row in zip(sides, canvas.rows(), strict=True)]
    return [cropped(curve.title, width), *rows, " " * side + _axis(curve.levels, across, width - side)]


def _axis(levels: Sequence[float], across: Sequence[float], width: int) -> str:
    """Writes the levels below their places; one without space is left out."""
    line, end = "", -1
    for level, x in [*zip(levels, across, strict=True)]:
        label = text(level)
        start = min(max(0, round(x * (width - 1)) - len(label) // 2), width - len(label))
        if start > end:
            line = line.ljust(start) + label
            end = start + len(label)
    return line


class _Canvas:
    """Dots in braille characters, two by four each; places are shares of the width and of the height from below."""

    def __init__(self, width: int, height: int) -> None:
        self._cells = [[_EMPTY] * width for _ in range(height)]
        self._last = 2 * width - 1, 4 * height - 1

    def line(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        """Draws a straight line; one with a missing end is left out."""
        if not all(map(math.isfinite, (*start, *end))):
            return
        (x0, y0), (x1, y1) = (self._dot(*place) for place in (start, end))
        count = max(abs(x1 - x0), abs(y1 - y0), 1)
        for i in range(count + 1):
            x, y = round(x0 + (x1 - x0) * i / count), round(y0 + (y1 - y0) * i / count)
            self._cells[y // 4][x // 2] |= _DOTS[x % 2][y % 4]

    def _dot(self, x: float, y: float) -> tuple[int, int]:
        across, down = min(max(x, 0.0), 1.0), 1 - min(max(y, 0.0), 1.0)
        return round(across * self._last[0]), round(down * self._last[1])

    def rows(self) -> list[str]:
        """Returns the lines from above."""
        return ["".join(map(chr, row)) for row in self._cells]
