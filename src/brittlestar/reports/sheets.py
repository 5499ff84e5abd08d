"""One sheet per environment, with a panel per model."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brittlestar.cells.identity import LABEL
from brittlestar.reports import drawing
from brittlestar.reports.curve_names import MOST_LETTERS, curve_names
from brittlestar.reports.curve_plot import MOST_CURVES, is_cut, view
from brittlestar.results.aggregate import Tables
from brittlestar.results.baseline_check import MISMATCH
from brittlestar.results.format import text
from brittlestar.results.load import Row
from brittlestar.results.rows import group_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MODELS = (LABEL, "policy.path", "policy")
"""Columns that may distinguish models."""
REVERSED = "\n(axis reversed: higher up is worse)"
"""Label of an axis on which all values are negative."""


def plot_sheets(tables: Tables, folder: Path) -> drawing.Pictures:
    """Draws a sheet per environment with a panel per model: the return at every strength.

    The axis of an environment with negative rewards only is reversed, and labelled so.

    Returns:
        Names of the pictures, and of models and curves left out. There are no pictures without several models, a
        list of models, or masks.
    """
    drawing.remove_pictures(folder, "sheet_*")
    pictures: drawing.Pictures = [], []
    for env, rows in sorted(_by_environment(tables).items()) if _is_sheet_wanted(tables) else ():
        for names, new in zip(pictures, _plot_environment(tables, env, rows, folder), strict=True):
            names += new
    return pictures


def _is_sheet_wanted(tables: Tables) -> bool:
    rows = [*tables.curve, *tables.failures]
    several = any(len({row.get(column) for row in rows}) > 1 for column in MODELS)
    targets = {str(cell.setting("perturbation").get("_target_")) for cell in tables.finished.kinds()}
    return several or LABEL in tables.grouping.columns or any(name.endswith("MaskObservation") for name in targets)


def _by_environment(tables: Tables) -> dict[str, list[Row]]:
    """Groups rows by registered id: one environment can have two names, its option and its id."""
    ids = {}
    for label, cells in tables.members().items():
        ids[label] = str(cells[-1].setting("env").get("id") or cells[-1].choice("env"))
    groups: dict[str, list[Row]] = {}
    for label, rows in group_rows(tables.curve, tables.grouping.columns).items():
        groups.setdefault(ids[label], []).extend(rows)
    return groups


def _plot_environment(tables: Tables, env: str, rows: list[Row], folder: Path) -> drawing.Pictures:
    models = [c for c in MODELS if c in tables.grouping.columns]
    panels = group_rows(rows, models)
    titles = {key: name or text(key[-1]) for key, name in curve_names(models, panels, MOST_LETTERS).items()}
    # A column that only distinguishes panels does not distinguish curves.
    columns = [c for c in tables.grouping.columns if any(len({row[c] for row in p}) > 1 for p in panels.values())]
    curves = curve_names(columns, group_rows(rows, columns), MOST_LETTERS)
    labels = dict(list(curves.items())[:MOST_CURVES])
    pages = drawing.Pages(folder / f"sheet_{re.sub(r'[^A-Za-z0-9]+', '_', env)}", list(panels.items()))
    for figure, page in pages.draw(width=4.0):
        for axes, (key, points) in page:
            _draw_panel(axes, points, columns, labels)
            missed = f" ({MISMATCH})" if points[0].get("baseline_check") == MISMATCH else ""
            drawing.set_title(axes, titles[key] + missed, _mark_failed(axes, tables.failures, points, models))
        _finish_sheet(figure, [axes for axes, _ in page], env, rows)
    left_out = [titles[key] for key, _ in pages.left_out] + list(curves.values())[MOST_CURVES:]
    return pages.names, [f"{env}: {name}" for name in left_out]


def _draw_panel(axes: Axes, rows: list[Row], columns: list[str], labels: dict[tuple, str]) -> None:
    curves = group_rows(rows, columns)
    for number, (key, label) in enumerate(labels.items()):
        drawing.draw_series(axes, curves.get(key, []), "return", label, **drawing.series_style(number))
    names = {row["strength_name"] for row in rows if row["strength_name"]}
    axes.set_xlabel(names.pop() if len(names) == 1 else "strength")
    drawing.open_frame(axes)


def _mark_failed(axes: Axes, failures: list[Row], rows: list[Row], models: list[str]) -> str:
    """Leaves room for strengths without a result and returns how many they are: a curve can be short, or a dot."""
    here = {tuple(row[c] for c in ("env", *models)) for row in rows}
    failed = {row["strength"] for row in failures if tuple(row.get(c) for c in ("env", *models)) in here}
    done = {row["strength"] for row in rows}
    lost = failed - done
    axes.update_datalim([(level, rows[0]["return"]) for level in lost if level is not None])
    axes.autoscale_view()
    return f"{len(lost)} of {len(lost | done)} levels failed" if lost else ""


def _finish_sheet(figure: Figure, grid: list[Axes], env: str, rows: list[Row]) -> None:
    """Gives the panels one view, the sheet a title, and the curves a legend below them."""
    limits, returns = view(rows, ["return"]), [row["return"] for row in rows if not math.isnan(row["return"])]
    negative = bool(returns) and max(returns) < 0
    for axes in grid:
        if limits:
            axes.set_ylim(*(reversed(limits) if negative else limits))
        axes.set_ylabel("return" + REVERSED * negative)
    cut = ", wide bands are cut" * is_cut(grid[0], rows, ["return"])
    figure.suptitle(env + cut, fontsize=11)
    lines: dict[str, Any] = {}
    for axes in grid:
        lines |= {label: line for line, label in zip(*axes.get_legend_handles_labels(), strict=True)}
    if len(lines) > 1:
        columns = min(len(lines), len(grid) + 1, 4)
        figure.legend(lines.values(), lines, loc="outside lower center", ncols=columns, frameon=False, fontsize=8)
