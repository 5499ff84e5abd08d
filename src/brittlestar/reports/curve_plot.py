"""One picture per sweep: curves with bands, from the tables alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from brittlestar.reports import drawing
from brittlestar.reports.curve_names import MOST_LETTERS, curve_names, cut_middle
from brittlestar.results.baseline_check import MISMATCH
from brittlestar.results.format import text
from brittlestar.results.load import RATES, Row
from brittlestar.results.rows import group_rows, measures

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_CURVES = 12
_MOST_PANELS = 6
_MOST_INSIDE = 8
"""A legend with more entries would hide curves."""
_STYLES = {"success_any": "-", "success_final": "--"}
_MISSED_STYLES = {"success_any": ":", "success_final": "-."}
"""Curves of a policy that misses its recorded return; their markers are hollow, too."""


def plot_curves(curve: list[Row], columns: list[str], path: Path) -> list[str]:
    """Draws the curve table as PNG and PDF, one panel per strength name and unit; without rows, removes old ones.

    Returns:
        Names of the curves, by their label columns, that were left out because the picture would be unreadable.
    """
    panels: dict[tuple[str, str], list[Row]] = {}
    for row in curve:
        unit = measures(row)[0]
        unit = "success rate" if unit in RATES else unit.replace("_", " ")
        panels.setdefault((row["strength_name"] or "strength", unit), []).append(row)
    if not panels:
        drawing.remove_pictures(path.parent, path.name)
        return []
    drawn = list(panels.items())[:_MOST_PANELS]
    figure = drawing.make_figure(1.5 + 5 * len(drawn), 4.2)
    left_out = [name for rows in list(panels.values())[_MOST_PANELS:] for name in _names(rows, columns).values()]
    for axes, ((name, unit), rows) in zip(figure.subplots(1, len(drawn), squeeze=False)[0], drawn, strict=True):
        left_out += _panel(axes, rows, columns)
        axes.set_xlabel(cut_middle(" of ".join([name, *_only(rows, "perturbation")]), MOST_LETTERS))
        axes.set_ylabel(f"{unit} (wide bands are cut)" if is_cut(axes, rows, measures(rows[0])) else unit)
        axes.set_title(", ".join(_only(rows, "env") + _only(rows, "policy")), fontsize=10)
    _place_legends(figure)
    drawing.save_figure(figure, path)
    return left_out


def view(rows: list[Row], names: Sequence[str]) -> tuple[float, float] | None:
    """Returns limits of the y axis: all means, and the bands where they are near; None without numbers.

    A t interval over two or three seeds can be many times as wide as everything that was measured.
    """
    means, low, high = (_finite(rows, names, end) for end in ("", "_low", "_high"))
    if not means.size:
        return None
    bottom, top = float(means.min()), float(means.max())
    reach = (top - bottom) / 4 or abs(top) or 1.0
    bottom = max(bottom - reach, low.min(initial=bottom))
    top = min(top + reach, high.max(initial=top))
    margin = 0.05 * (top - bottom or reach)
    return bottom - margin, top + margin


def is_cut(axes: Axes, rows: list[Row], names: Sequence[str]) -> bool:
    """Returns whether a band leaves the view."""
    bottom, top = sorted(axes.get_ylim())
    low, high = (_finite(rows, names, end) for end in ("_low", "_high"))
    return bool((low < bottom).any() or (high > top).any())


def _finite(rows: list[Row], names: Sequence[str], end: str) -> np.ndarray:
    values = np.array([row[name + end] for row in rows for name in names], dtype=float)
    return values[np.isfinite(values)]


def _names(rows: list[Row], columns: list[str]) -> dict[tuple, str]:
    curves = group_rows(rows, columns)
    return {
        key: name or text(curves[key][0]["policy"]) for key, name in curve_names(columns, curves, MOST_LETTERS).items()
    }


def _panel(axes: Axes, rows: list[Row], columns: list[str]) -> list[str]:
    curves = group_rows(rows, columns)
    names = curve_names(columns, curves, MOST_LETTERS)
    drawn = list(curves.items())[:MOST_CURVES]
    for number, (key, points) in enumerate(drawn):
        for measure in measures(points[0]):
            # Many bands on each other would hide the curves.
            _draw(axes, points, measure, names[key], number, alpha=min(0.18, 0.7 / len(drawn)))
    limits = view([row for _, points in drawn for row in points], measures(rows[0]))
    if measures(rows[0])[0] in RATES:
        axes.set_ylim(-0.03, 1.03)
    elif limits:
        axes.set_ylim(*limits)
    drawing.open_frame(axes)
    return [names[key] for key in list(curves)[MOST_CURVES:]]


def _draw(axes: Axes, points: list[Row], measure: str, label: str, number: int, alpha: float) -> None:
    # A single success is that of the episode, not of a step.
    step = measure.replace("success_", "") + " step" if len(measures(points[0])) > 1 else ""
    name = " ".join(filter(None, (label, step))) or ("success" if measure in RATES else measure.replace("_", " "))
    style = drawing.series_style(number) | {"linestyle": _STYLES.get(measure, "-")}
    if points[0].get("baseline_check") == MISMATCH:
        name = f"{name} ({MISMATCH})"
        style |= {"linestyle": _MISSED_STYLES.get(measure, ":"), "markerfacecolor": "none"}
    drawing.draw_series(axes, points, measure, name, alpha, **style)


def _place_legends(figure: Figure) -> None:
    """Adds a legend to every panel: next to the curves where it is long, or would lie on them."""
    figure.set_dpi(drawing.DPI)
    for axes in figure.axes:
        if len(axes.get_legend_handles_labels()[1]) > _MOST_INSIDE:
            _place_outside(figure, axes, fontsize=6)
        else:
            axes.legend(frameon=False, fontsize=8)
    figure.draw_without_rendering()
    for axes in figure.axes:
        if _covers(axes):
            _place_outside(figure, axes, fontsize=8)
            figure.draw_without_rendering()


def _place_outside(figure: Figure, axes: Axes, fontsize: int) -> None:
    labels = axes.get_legend_handles_labels()[1]
    axes.legend(frameon=False, fontsize=fontsize, loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0)
    figure.set_figwidth(figure.get_figwidth() + 0.5 + fontsize / 120 * max(map(len, labels)))


def _covers(axes: Axes) -> bool:
    legend = axes.get_legend()
    box = legend.get_window_extent() if legend else None
    paths = [line.get_transform().transform_path(line.get_path()) for line in axes.get_lines()]
    return box is not None and any(box.count_contains(p.vertices) or p.intersects_bbox(box, False) for p in paths)


def _only(rows: list[Row], column: str) -> list[str]:
    values = {str(row[column]) for row in rows}
    return list(values) if len(values) == 1 else []
