"""One picture per sweep: curves with bands, from the tables alone."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from brittlestar.cells import RATES, Row
from brittlestar.gate import MISMATCH
from brittlestar.identity import LABEL
from brittlestar.tablefiles import text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Okabe–Ito: told apart by every reader."""
MARKERS = ("o", "s", "^")
"""A colour that comes again has another marker."""
MOST_CURVES = 12
MOST_PANELS = 6
MOST_INSIDE = 8
"""A legend with more entries would hide curves."""
STYLES = {"success_any": "-", "success_final": "--"}
MISSED_STYLES = {"success_any": ":", "success_final": "-."}
"""Curves of a policy that misses its recorded return; their markers are hollow, too."""


def plot_curves(curve: list[Row], columns: list[str], path: Path) -> list[str]:
    """Draws the curve table as PNG and PDF, one panel per strength name and unit; without rows, removes old ones.

    Args:
        curve: rows of the curve table.
        columns: the label columns that tell curves apart.
        path: where to write, without a suffix.

    Returns:
        Labels that were left out because the picture would be unreadable.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    panels: dict[tuple[str, str], list[Row]] = {}
    for row in curve:
        panels.setdefault((row["strength_name"] or "strength", _unit(row)), []).append(row)
    if not panels:
        for suffix in (".png", ".pdf"):
            path.with_suffix(suffix).unlink(missing_ok=True)
        return []
    shown = list(panels.items())[:MOST_PANELS]
    figure = Figure(figsize=(1.5 + 5 * len(shown), 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    left_out = [label for rows in list(panels.values())[MOST_PANELS:] for label in map(str, _curves(rows, columns))]
    for axes, ((name, unit), rows) in zip(figure.subplots(1, len(shown), squeeze=False)[0], shown, strict=True):
        left_out += _panel(axes, rows, columns)
        figure.set_figwidth(figure.get_figwidth() + _legend(axes))
        axes.set_xlabel(f"{name} of {_only(rows, 'perturbation')}" if _only(rows, "perturbation") else name)
        axes.set_ylabel(unit)
        axes.set_title(", ".join(filter(None, (_only(rows, "env"), _only(rows, "policy")))), fontsize=10)
    save(figure, path)
    return left_out


def save(figure: Figure, path: Path, dpi: int = 150) -> None:
    """Writes a figure as PNG and PDF."""
    # Lay out once, not again for each file, and with the letters of the picture: small ones are wider there.
    figure.set_dpi(dpi)
    figure.draw_without_rendering()
    figure.set_layout_engine(None)
    figure.savefig(path.with_suffix(".png"), dpi=dpi)
    # No date in the file: the same table gives the same bytes.
    figure.savefig(path.with_suffix(".pdf"), metadata={"CreationDate": None})


def label_text(columns: Sequence[str], key: tuple, shown: Sequence[int]) -> str:
    """Writes the label of a curve: some of its columns with their values.

    Example:
        >>> label_text(["env", "mitigation.alpha"], ("cartpole", 0.3), [1])
        'alpha 0.3'
    """
    return ", ".join(f"{columns[i].rpartition('.')[2]} {text(key[i])}" for i in shown)


def _panel(axes: Axes, rows: list[Row], columns: list[str]) -> list[str]:
    curves = _curves(rows, columns)
    varied = [i for i, name in enumerate(columns) if name == LABEL or len({key[i] for key in curves}) > 1]
    for number, (key, points) in enumerate(list(curves.items())[:MOST_CURVES]):
        label = label_text(columns, key, varied)
        for measure in measures(points[0]):
            _band(axes, points, measure, label, number)
    if measures(rows[0])[0] in RATES:
        axes.set_ylim(-0.03, 1.03)
    axes.spines[["top", "right"]].set_visible(False)
    return [str(key) for key in list(curves)[MOST_CURVES:]]


def _legend(axes: Axes) -> float:
    """Adds a legend: a long one beside the curves, not on them. Returns how many inches more that takes."""
    labels = axes.get_legend_handles_labels()[1]
    if len(labels) <= MOST_INSIDE:
        axes.legend(frameon=False, fontsize=8)
        return 0.0
    axes.legend(frameon=False, fontsize=6, loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0)
    return 0.5 + 0.05 * max(map(len, labels))


def _band(axes: Axes, points: list[Row], measure: str, label: str, number: int) -> None:
    x = [row["strength"] for row in points]
    middle, low, high = (np.array([row[measure + end] for row in points]) for end in ("", "_low", "_high"))
    colour, marker = COLOURS[number % len(COLOURS)], MARKERS[number // len(COLOURS) % len(MARKERS)]
    step = measure.replace("success_", "") + " step" if measure in RATES else ""
    name = " ".join(filter(None, (label, step))) or measure.replace("_", " ")
    style: dict[str, Any] = {"color": colour, "linestyle": STYLES.get(measure, "-"), "marker": marker, "markersize": 3}
    if points[0].get("baseline_check") == MISMATCH:
        name = f"{name} ({MISMATCH})"
        style |= {"linestyle": MISSED_STYLES.get(measure, ":"), "markerfacecolor": "none"}
    if len(points) > 1:
        axes.plot(x, middle, label=name, **style)
        axes.fill_between(x, low, high, color=colour, alpha=0.18, linewidth=0)
    else:
        axes.errorbar(x, middle, [middle - low, high - middle], label=name, capsize=3, **style)


def _curves(rows: list[Row], columns: list[str]) -> dict[tuple, list[Row]]:
    curves: dict[tuple, list[Row]] = {}
    for row in rows:
        curves.setdefault(tuple(row[column] for column in columns), []).append(row)
    return curves


def _only(rows: list[Row], column: str) -> str:
    values = {row[column] for row in rows}
    return str(values.pop()) if len(values) == 1 else ""


def _unit(row: Row) -> str:
    measure = measures(row)[0]
    return "success rate" if measure in RATES else measure.replace("_", " ")


def measures(row: Row) -> list[str]:
    """Returns which measures a curve row shows."""
    return _measures(tuple(row))


@functools.lru_cache(maxsize=64)
def _measures(columns: tuple[str, ...]) -> list[str]:
    return [name.removesuffix("_method") for name in columns if name.endswith("_method")]
