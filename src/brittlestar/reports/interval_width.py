"""Interval width against trials: how well a number of trials can measure a success rate."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from brittlestar.errors import UserError, require
from brittlestar.reports.drawing import COLOURS, DPI, make_figure, open_frame
from brittlestar.statistics.intervals import LEVEL, wilson
from brittlestar.statistics.sample_size import exact_sample_size, expected_half_width

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SUFFIXES = (".png", ".pdf", ".svg")
_FEWEST, _MOST, _POINTS = 5, 1000, 60
_TRIALS, _WIDTHS = (5, 10, 20, 50, 100, 200, 500, 1000), (0.5, 1, 2, 3, 5, 10, 15, 20, 30, 40)
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
_GAP = 0.045
"""Least distance of two labels, as a share of the height of the axes."""


def plot_widths(rates: Sequence[float], path: Path, margin: float | None = None, level: float = LEVEL) -> Path:
    """Draws the expected half width of the interval of each rate against the number of trials, into one file.

    Returns the file, which is a PNG if its name has no suffix.
    """
    path = path if path.suffix else path.with_suffix(SUFFIXES[0])
    if path.suffix.lower() not in SUFFIXES:
        raise UserError(f"`--plot` writes {', '.join(SUFFIXES)}, got {path.name!r}")
    figure = width_figure(rates, margin, level)
    try:
        figure.savefig(path, dpi=DPI)
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror or error}") from None
    return path


def width_figure(rates: Sequence[float], margin: float | None = None, level: float = LEVEL) -> Figure:
    """Returns the figure of rates in [0, 1]: a solid line for Clopper-Pearson and a dashed one for Wilson."""
    for rate in rates:
        require(0 <= rate <= 1, "rate", "between 0 and 1", rate)
    most = max([_MOST, *(exact_sample_size(rate, margin, level) * 2 for rate in rates if margin)])
    trials = np.unique(np.geomspace(_FEWEST, most, _POINTS).round().astype(int))
    figure = make_figure(7.6, 4.8)
    axes = open_frame(figure.add_subplot())
    ends: dict[str, tuple[float, str]] = {}
    for number, (label, rate) in enumerate(_lines(rates).items()):
        colour = COLOURS[number % len(COLOURS)]
        exact = [100 * expected_half_width(n, rate, level) for n in trials]
        axes.plot(
            trials,
            exact,
            marker=_MARKERS[number % len(_MARKERS)],
            markevery=10,
            markersize=4,
            color=colour,
            linewidth=1.6,
        )
        score = [100 * expected_half_width(n, rate, level, wilson) for n in trials]
        axes.plot(trials, score, linestyle="--", color=colour, linewidth=1.1)
        ends[label] = exact[-1], colour
    _finish(axes, most, margin, level)
    _label(axes, ends)
    return figure


def _lines(rates: Sequence[float]) -> dict[str, float]:
    """Returns the lines by label: a rate and its complement have the same one.

    Example:
        >>> _lines([0.8, 0.5, 0.2])
        {'rate 0.2 or 0.8': 0.2, 'rate 0.5': 0.5}
    """
    groups: dict[float, list[float]] = {}
    for rate in sorted(set(rates)):
        groups.setdefault(round(min(rate, 1 - rate), 9), []).append(rate)
    return {f"rate {' or '.join(f'{rate:g}' for rate in members)}": least for least, members in groups.items()}


def _finish(axes: Axes, most: int, margin: float | None, level: float) -> None:
    axes.set(xscale="log", yscale="log", xlim=(_FEWEST, most))
    axes.set_xlabel("trials (episodes over all seeds)")
    axes.set_ylabel(f"expected half width of the {100 * level:g} % interval\n(percentage points)")
    ticks = sorted({n for n in (*_TRIALS, *(10**k * n for k in (3, 4, 5, 6) for n in (1, 2, 5))) if n <= most})
    axes.set_xticks(ticks, [f"{n:,}" for n in ticks], fontsize=8)
    low, high = axes.get_ylim()
    widths = [width for width in (0.05, 0.1, 0.2, *_WIDTHS) if low <= width <= high]
    axes.set_yticks(widths, [f"± {width:g}" for width in widths], fontsize=8)
    axes.minorticks_off()
    axes.grid(color="0.9", linewidth=0.6)
    axes.set_axisbelow(True)
    if margin is not None:
        axes.axhline(100 * margin, color="black", linewidth=0.9, linestyle=":")
        axes.text(_FEWEST * 1.05, 100 * margin, f"± {100 * margin:g}", va="bottom", fontsize=8)
    for style, name in (("-", "Clopper–Pearson (exact)"), ("--", "Wilson (in the tables)")):
        axes.plot([], [], color="black", linestyle=style, label=name)
    axes.legend(frameon=False, fontsize=8, loc="upper right")
    axes.set_title("If trials are of one kind; where seeds differ, intervals are wider", fontsize=9)


def _label(axes: Axes, ends: dict[str, tuple[float, str]]) -> None:
    """Writes the name of each line at its end, no two on each other."""
    low, high = np.log(axes.get_ylim())
    place = -1.0
    for label, (width, colour) in sorted(ends.items(), key=lambda item: item[1][0]):
        place = max(place + _GAP, (np.log(width) - low) / (high - low))
        axes.text(1.01, place, label, transform=axes.transAxes, va="center", fontsize=8, color=colour)
