"""One picture per sweep: curves with bands, from the tables alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from brittlestar.tables import RATES, Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Okabe–Ito: told apart by every reader."""
MOST_CURVES = 12
STYLES = {"success_any": "-", "success_final": "--"}


def plot_curves(curve: list[Row], columns: list[str], path: Path) -> list[str]:
    """Draws the curve table as PNG and PDF, one panel per strength name.

    Args:
        curve: rows of the curve table.
        columns: the label columns that tell curves apart.
        path: where to write, without a suffix.

    Returns:
        Labels that were left out because the picture would be unreadable.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    axes_names = list(dict.fromkeys(row["strength_name"] or "strength" for row in curve))
    figure = Figure(figsize=(1.5 + 5 * len(axes_names), 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(1, len(axes_names), squeeze=False)[0]
    left_out: list[str] = []
    for axes, name in zip(panels, axes_names, strict=True):
        rows = [row for row in curve if (row["strength_name"] or "strength") == name]
        left_out += _panel(axes, rows, name, columns)
    figure.savefig(path.with_suffix(".png"), dpi=150)
    # No date in the file: the same table gives the same bytes.
    figure.savefig(path.with_suffix(".pdf"), metadata={"CreationDate": None})
    return left_out


def _panel(axes: Axes, rows: list[Row], name: str, columns: list[str]) -> list[str]:
    groups: dict[tuple, list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[c] for c in columns), []).append(row)
    varied = [c for i, c in enumerate(columns) if len({key[i] for key in groups}) > 1]
    shown = list(groups.items())[:MOST_CURVES]
    for number, (key, points) in enumerate(shown):
        label = ", ".join(f"{c.rpartition('.')[2]} {v}" for c, v in zip(columns, key, strict=True) if c in varied)
        for measure in measures(points[0]):
            _band(axes, points, measure, label, COLOURS[number % len(COLOURS)])
    axes.set_xlabel(f"{name} of {rows[0]['perturbation']}" if "perturbation" not in varied else name)
    axes.set_ylabel("success rate" if measures(rows[0])[0] in RATES else measures(rows[0])[0].replace("_", " "))
    if measures(rows[0])[0] in RATES:
        axes.set_ylim(-0.03, 1.03)
    axes.set_title(f"{rows[0]['env']}, {rows[0]['policy']}" if not varied else rows[0]["env"], fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8)
    return [str(key) for key in list(groups)[MOST_CURVES:]]


def _band(axes: Axes, points: list[Row], measure: str, label: str, colour: str) -> None:
    x = [row["strength"] for row in points]
    name = " ".join(part for part in (label, measure.replace("success_", "") + " step" * (measure in RATES)) if part)
    style: dict[str, Any] = {"color": colour, "linestyle": STYLES.get(measure, "-"), "marker": "o", "markersize": 3}
    axes.plot(x, [row[measure] for row in points], label=name, **style)
    low, high = ([row[f"{measure}_{end}"] for row in points] for end in ("low", "high"))
    axes.fill_between(x, low, high, color=colour, alpha=0.18, linewidth=0)


def measures(row: Row) -> list[str]:
    """Returns which measures a curve row shows."""
    return [key.removesuffix("_method") for key in row if key.endswith("_method")]
