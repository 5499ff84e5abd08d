"""What all figures share: size, title and note, marks that work in grey, texts of statistics."""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np

from brittlestar.reports.drawing import COLOURS
from brittlestar.results.format import bounded
from brittlestar.statistics.correlations import Correlation

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HATCHES = ("", "...", "xxx", "\\\\\\", "ooo", "---")
"""Beside the colours: bars are told apart in grey, too."""
SIGNS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "*")
STYLES = ("-", "--", ":", "-.")
GREY = "#D9D9D9"
SILENT = "cannot affect behaviour"
SILENT_NOTE = (
    f"Hatched in grey: {SILENT} (actions identical to those of the same episodes without stress), so no collapse."
)
INTERVALS = (
    "Intervals: 95 %, Student's t over policies (one policy: over its seeds), at least the policies' own on average."
)


def blank(width: float, height: float) -> Figure:
    """Returns a figure without axes."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    figure.get_layout_engine().set(w_pad=0.08, h_pad=0.08)  # type: ignore[union-attr, call-arg]
    return figure


def plain(axes: Axes) -> Axes:
    """Takes the frame away on two sides."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8)
    return axes


def title(figure: Figure, text: str, *notes: str) -> Figure:
    """Writes the title above and the notes below, in lines as long as the figure is wide."""
    width = figure.get_figwidth() - 0.4
    figure.suptitle("\n".join(textwrap.wrap(text, int(width / 0.085))), fontsize=11)
    lines = [line for note in notes if note for line in textwrap.wrap(note, int(width / 0.058))]
    figure.supxlabel("\n".join(lines), fontsize=7.5)
    return figure


def legend(axes: Axes, columns: int = 0, heading: str = "") -> None:
    """Names each series once: above the axes in some columns, or on their right where there are none.

    A legend of the axes has room of its own; one of the figure would lie on the title.
    """
    lines, labels = axes.get_legend_handles_labels()
    once = dict(zip(labels, lines, strict=True))
    place: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0)}
    if columns:
        place = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0), "ncols": columns}
    axes.legend(once.values(), once.keys(), title=heading or None, frameon=False, fontsize=8, title_fontsize=8, **place)


def wrapped(name: str, width: int = 11) -> str:
    """Breaks a name into lines.

    Example:
        >>> wrapped("concept drift", 8).splitlines()
        ['concept', 'drift']
    """
    return "\n".join(textwrap.wrap(name, width, break_long_words=False)) or name


def look(index: int) -> dict[str, Any]:
    """Returns colour and marker of a series: no two of seventy are the same.

    Example:
        >>> len({tuple(look(index).values()) for index in range(70)})
        70
    """
    return {"color": COLOURS[index % len(COLOURS)], "marker": SIGNS[index % len(SIGNS)]}


def p_text(p: float) -> str:
    """Writes a p value.

    Example:
        >>> p_text(0.0312), p_text(1e-9), p_text(float("nan"))
        ('p = 0.031', 'p < 0.001', 'p unknown')
    """
    if math.isnan(p):
        return "p unknown"
    return "p < 0.001" if p < 0.001 else f"p = {p:.2g}"


def correlation_text(correlation: Correlation) -> str:
    """Writes Pearson's r with its interval, p value and number of pairs.

    Example:
        >>> correlation_text(Correlation(0.99, 0.0019, 5, low=0.8, high=1.0))
        'r = 0.99 [0.80, 1.00], p = 0.0019, n = 5'
        >>> correlation_text(Correlation(math.nan, math.nan, 3))
        'r undefined (n = 3)'
    """
    if math.isnan(correlation.r):
        return f"r undefined (n = {correlation.n})"
    r = bounded(correlation.r, correlation.low, correlation.high, ".2f")
    return f"r = {r}, {p_text(correlation.p)}, n = {correlation.n}"


def reach(value: float, low: float, high: float) -> list[list[float]]:
    """Returns the lengths of an error bar: none where the bounds are unknown."""
    return [[max(0.0, value - low) if low == low else 0.0], [max(0.0, high - value) if high == high else 0.0]]


def policies(count: int) -> str:
    """Writes how many there are.

    Example:
        >>> policies(1), policies(2)
        ('n = 1 policy', 'n = 2 policies')
    """
    return f"n = {count} {'policy' if count == 1 else 'policies'}"


def spread(count: int, width: float) -> np.ndarray:
    """Returns places beside each other around 0, so that equal values do not hide each other.

    Example:
        >>> spread(3, 0.2)
        array([-0.1,  0. ,  0.1])
    """
    return np.linspace(-width / 2, width / 2, count) if count > 1 else np.zeros(count)


def silence(axes: Axes, left: float, right: float) -> None:
    """Hatches a part of the axis whose stressor cannot affect behaviour, and says so."""
    axes.axvspan(left, right, facecolor="white", edgecolor=GREY, hatch="///", linewidth=0, zorder=0)
    axes.text(
        (left + right) / 2,
        0.5,
        SILENT,
        transform=axes.get_xaxis_transform(),
        rotation=90,
        ha="center",
        va="center",
        fontsize=8,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 2},
    )
