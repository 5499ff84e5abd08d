"""What all figures share: axes, title and notes, marks that work in grey, texts of statistics."""

import math
import textwrap
from collections.abc import Iterable
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from brittlestar.errors import counted
from brittlestar.reports.drawing import COLOURS, make_figure, open_frame
from brittlestar.results.format import bounded
from brittlestar.statistics.correlations import Correlation
from brittlestar.studies.stress.figures.rows import Mean
from brittlestar.studies.stress.plots import GREY
from brittlestar.studies.stress.runs import SILENT

SILENT_NOTE = (
    f"Hatched in grey: {SILENT} (actions identical to those of the same episodes without stress), so no collapse."
)
INTERVALS = (
    "Intervals: 95 %, Student's t over policies (one policy: over its seeds), at least the policies' own on average."
)
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "*")


def blank(width: float, height: float) -> Figure:
    """Returns a figure without axes."""
    return make_figure(width, height, w_pad=0.08, h_pad=0.08)


def plain(axes: Axes) -> Axes:
    """Removes the frame on two sides and makes the ticks small."""
    axes.tick_params(labelsize=8)
    return open_frame(axes)


def one_panel(width: float, height: float) -> tuple[Figure, Axes]:
    """Returns a figure and its only axes."""
    figure = blank(width, height)
    return figure, plain(figure.add_subplot())


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
    series = dict(zip(labels, lines, strict=True))
    place: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0)}
    if columns:
        place = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0), "ncols": columns}
    axes.legend(
        series.values(), series.keys(), title=heading or None, frameon=False, fontsize=8, title_fontsize=8, **place
    )


def wrapped(name: str) -> str:
    """Breaks the name of a stressor into short lines."""
    return "\n".join(textwrap.wrap(name, 11, break_long_words=False)) or name


def marks(index: int) -> dict[str, Any]:
    """Returns the style of unconnected marks: no two of seventy series have the same.

    Example:
        >>> len({tuple(marks(index).values()) for index in range(70)})
        70
    """
    return {"color": COLOURS[index % len(COLOURS)], "marker": _MARKERS[index % len(_MARKERS)], "linestyle": ""}


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


def policies(count: int) -> str:
    """Writes a number of policies as `n = 2 policies`."""
    return f"n = {counted(count, 'policy', 'policies')}"


def span(values: Iterable[int]) -> str:
    """Writes the lowest and the highest number, or the only one.

    Example:
        >>> span([3, 1, 2]), span([2, 2]), span([])
        ('1–3', '2', '')
    """
    numbers = list(values)
    return "–".join(map(str, sorted({min(numbers), max(numbers)}))) if numbers else ""


def spread(count: int, width: float) -> np.ndarray:
    """Returns places next to each other around 0, so that equal values do not hide each other.

    Example:
        >>> spread(3, 0.2)
        array([-0.1,  0. ,  0.1])
    """
    return np.linspace(-width / 2, width / 2, count) if count > 1 else np.zeros(count)


def draw_interval(axes: Axes, place: float, mean: Mean, across: bool = False, **style: Any) -> None:
    """Draws an interval as an error bar, upright or `across`; nothing where the bounds are unknown."""
    ends = np.maximum(0.0, np.nan_to_num([[mean.value - mean.low], [mean.high - mean.value]]))
    bar: dict[str, Any] = {"color": "black", "capsize": 2, "lw": 1, "linestyle": ""} | style
    x, y = (mean.value, place) if across else (place, mean.value)
    axes.errorbar(x, y, **{"xerr" if across else "yerr": ends}, **bar)


def hatch(axes: Axes, left: float, right: float, text: str = "") -> None:
    """Hatches a part of the axis whose stressor cannot affect behaviour, with a text on it."""
    axes.axvspan(left, right, facecolor="white", edgecolor=GREY, hatch="///", linewidth=0, zorder=0)
    if text:
        axes.text(
            (left + right) / 2, 0.5, text, transform=axes.get_xaxis_transform(), rotation=90, ha="center", va="center",
            fontsize=8, bbox={"facecolor": "white", "edgecolor": "none", "pad": 2},
        )  # fmt: skip


def agent_axis(axes: Axes, names: list[str]) -> None:
    """Names the rows of a figure, from top to bottom."""
    axes.set_yticks(range(len(names)), names, fontsize=8)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
