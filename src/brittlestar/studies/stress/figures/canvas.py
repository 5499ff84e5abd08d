"""What all figures share: axes, title and notes, marks that work in grey, texts of statistics."""

import math
import textwrap
from collections.abc import Iterable
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from brittlestar.errors import counted
from brittlestar.reports.drawing import COLOURS, make_figure, open_frame
from brittlestar.results.format import bounded
from brittlestar.results.load import Row
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
HOLM = "The interval of a policy's excess has the level of Holm's correction over its stressors, at least 95 %."
_TRAINED_ONCE = (
    "One policy per algorithm and environment: a difference can come from the training run as well as from the "
    "algorithm."
)
_TRAINED_OFTEN = "Policies of one algorithm in one environment may differ in more than their training seed."
DARK = 0.55
"""Cells of a map above this value are dark, so that text on them is white."""
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
    figure.suptitle("\n".join(_lines(text, width / 0.085)), fontsize=11)
    lines = [line for note in notes if note for line in _lines(note, width / 0.058)]
    figure.supxlabel("\n".join(lines), fontsize=7.5)
    return figure


def _lines(text: str, letters: float) -> list[str]:
    # No line break before a percent sign.
    return textwrap.wrap(text.replace(" %", "\N{NO-BREAK SPACE}%"), int(letters))


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


def training_note(rows: list[Row]) -> str:
    """Returns what a comparison of algorithms cannot show: each policy is one training run."""
    groups: dict[tuple, set[str]] = {}
    for row in rows:
        # A policy whose algorithm is unknown is alone.
        groups.setdefault((row.get("algorithm") or row["agent"], row["place"]), set()).add(row["agent"])
    return _TRAINED_ONCE if all(len(agents) == 1 for agents in groups.values()) else _TRAINED_OFTEN


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


def colour_cells(axes: Axes, table: list[list[Mean | None]], colours: str) -> None:
    """Colours the cells of a map by their means from 0 to 1, with a bar that explains the colours."""
    values = np.array([[math.nan if mean is None else mean.value for mean in line] for line in table])
    colour_map = matplotlib.colormaps[colours].with_extremes(bad="white")
    picture = axes.imshow(np.ma.masked_invalid(values), cmap=colour_map, vmin=0.0, vmax=1.0, aspect="auto")
    axes.set_xticks(np.arange(values.shape[1] + 1) - 0.5, minor=True)
    axes.set_yticks(np.arange(values.shape[0] + 1) - 0.5, minor=True)
    axes.grid(which="minor", color="white", linewidth=1.5)
    axes.tick_params(which="minor", length=0)
    assert axes.figure is not None
    axes.figure.colorbar(picture, ax=axes, fraction=0.03, pad=0.02).ax.tick_params(labelsize=8)


def two_digits(value: float) -> str:
    """Writes two digits, and never -0.00.

    Example:
        >>> two_digits(-0.001), two_digits(12.346)
        ('0.00', '12.35')
    """
    return f"{round(value, 2) + 0.0:.2f}"


def map_axes(axes: Axes, columns: list[str], rows: list[str]) -> None:
    """Names the columns of a map above it and its rows on the left, without a frame."""
    axes.set_xticks(range(len(columns)), columns, fontsize=8)
    axes.set_yticks(range(len(rows)), rows, fontsize=8)
    axes.tick_params(length=0)
    axes.xaxis.tick_top()
    axes.spines[:].set_visible(False)
