"""Stressors side by side: heat maps with printed numbers, and a radar of the channels for each."""

import math
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from brittlestar.errors import counted
from brittlestar.reports.drawing import COLOURS
from brittlestar.results.format import brackets
from brittlestar.results.load import Row
from brittlestar.studies.stress.compat_channels import CHANNELS
from brittlestar.studies.stress.figures import canvas
from brittlestar.studies.stress.figures.rows import FigureTables, Mean, UnsuitedError, grouped
from brittlestar.studies.stress.plots import GREY, frame_radar
from brittlestar.studies.stress.runs import SILENT
from brittlestar.studies.stress.scoring import BASELINE

_MOST_AGENTS = 40
"""More agents than this are drawn by environment."""
_MOST_ROWS, _MOST_PANELS = 60, 16
_BOUNDS = "Intervals: 95 %, over seeds and episodes, of these very policies: the mean of their bounds."
_LINES = "Line: mean in the shock, with its interval as a band. Dotted: the same episodes without stress."


def collapse_map(tables: FigureTables) -> Figure:
    """Draws the collapse rate in the shock of each agent (of each environment, if there are many) and stressor."""
    tables.need("stress", "rate_shock")
    agents = grouped(tables.stress, "agent")
    few = len(agents) <= _MOST_AGENTS
    figure = _map(agents if few else grouped(tables.stress, "place"), "rate_shock", tables.stressors, "Blues")
    unit = "agent" if few else "environment"
    text = f"Collapse rate in the shock (CR) per {unit} and stressor; baseline is without stress"
    return canvas.title(figure, text, canvas.SILENT_NOTE, _counts(tables))


def vulnerability_map(tables: FigureTables) -> Figure:
    """Draws how much more often each environment's agents collapse than in the same episodes without stress."""
    tables.need("stress", "excess")
    stressors = [name for name in tables.stressors if name != BASELINE]
    figure = _map(grouped(tables.stress, "place"), "excess", stressors, "Oranges")
    text = "Vulnerability: CR in the shock minus CR of the same episodes without stress, mean over policies"
    return canvas.title(figure, text, canvas.SILENT_NOTE, _counts(tables))


def channel_radar(tables: FigureTables) -> Figure:
    """Draws the mean channels of the shock, with their interval as a band, and the channels without stress."""
    tables.need("runs", *(f"{name}_shock" for name in CHANNELS))
    if not tables.acting:
        raise UnsuitedError("no stressor changed what any agent did")
    rows, stressors = grouped(tables.runs, "stressor"), tables.acting[:_MOST_PANELS]
    across = min(3, len(stressors))
    down = math.ceil(len(stressors) / across)
    figure = canvas.blank(max(6.0, 3.1 * across), 2.5 * down + 1.2)
    for number, stressor in enumerate(stressors):
        axes = figure.add_subplot(down, across, number + 1, projection="polar")
        if BASELINE in rows:
            _line(axes, rows[BASELINE], {"color": "black", "linestyle": ":", "linewidth": 1.2})
        n = _line(axes, rows[stressor], {"color": COLOURS[0], "marker": "o", "markersize": 4})
        frame_radar(axes)
        axes.set_title(f"{stressor} ({canvas.policies(n)})", fontsize=9, pad=10)
    left_out = f"Left out, since they {SILENT}: {', '.join(sorted(tables.silent))}." if tables.silent else ""
    return canvas.title(figure, "Channels in the shock", left_out, _LINES, canvas.INTERVALS)


def _map(rows: dict[str, list[Row]], column: str, stressors: list[str], colours: str) -> Figure:
    names = sorted(rows)[:_MOST_ROWS]
    cells = {name: grouped(rows[name], "stressor") for name in names}
    means = {
        name: {key: Mean.of_policies(part, column) for key, part in parts.items()} for name, parts in cells.items()
    }
    longest = max(map(len, names)) + 16
    figure = canvas.blank(max(6.5, 1.4 + 0.062 * longest + 0.82 * len(stressors)), 1.9 + 0.36 * len(names))
    axes = figure.add_subplot()
    _colour(axes, [[means[name].get(key) for key in stressors] for name in names], colours)
    for y, name in enumerate(names):
        for x, stressor in enumerate(stressors):
            part, mean = cells[name].get(stressor, []), means[name].get(stressor)
            if part and all(row["proven"] for row in part):
                place = (x - 0.5, y - 0.5)
                axes.add_patch(Rectangle(place, 1, 1, facecolor="white", edgecolor=GREY, hatch="///", linewidth=0))
            elif mean is not None:
                _write(axes, x, y, mean)
    counts = [max((mean.n for mean in line.values() if mean is not None), default=0) for line in means.values()]
    several = max(counts) > 1
    labels = [f"{name} ({canvas.policies(n)})" if several else name for name, n in zip(names, counts, strict=True)]
    axes.set_xticks(range(len(stressors)), [canvas.wrapped(name) for name in stressors], fontsize=8)
    axes.set_yticks(range(len(names)), labels, fontsize=8)
    axes.tick_params(length=0)
    axes.xaxis.tick_top()
    axes.spines[:].set_visible(False)
    return figure


def _colour(axes: Axes, table: list[list[Mean | None]], colours: str) -> None:
    values = np.array([[math.nan if mean is None else mean.value for mean in line] for line in table])
    colour_map = matplotlib.colormaps[colours].with_extremes(bad="white")
    picture = axes.imshow(np.ma.masked_invalid(values), cmap=colour_map, vmin=0.0, vmax=1.0, aspect="auto")
    axes.set_xticks(np.arange(values.shape[1] + 1) - 0.5, minor=True)
    axes.set_yticks(np.arange(values.shape[0] + 1) - 0.5, minor=True)
    axes.grid(which="minor", color="white", linewidth=1.5)
    axes.tick_params(which="minor", length=0)
    assert axes.figure is not None
    axes.figure.colorbar(picture, ax=axes, fraction=0.03, pad=0.02).ax.tick_params(labelsize=8)


def _write(axes: Axes, x: int, y: int, mean: Mean) -> None:
    style: dict[str, Any] = {"ha": "center", "va": "center", "color": "white" if mean.value > 0.55 else "black"}
    axes.text(x, y - 0.16, _two_digits(mean.value), fontsize=8, **style)
    if not math.isnan(mean.low):
        axes.text(x, y + 0.24, brackets(mean.low, mean.high, _two_digits), fontsize=6, **style)


def _two_digits(value: float) -> str:
    """Writes two digits, and never -0.00."""
    return f"{round(value, 2) + 0.0:.2f}"


def _counts(tables: FigureTables) -> str:
    seeds = canvas.span(int(row["n_seeds"]) for row in tables.stress if row.get("n_seeds"))
    modes = counted(len({row["mode"] for row in tables.stress}), "mode")
    return f"n: {seeds or 'unknown'} seeds, mean over {modes}. {_BOUNDS}"


def _line(axes: Any, rows: list[Row], style: dict[str, Any]) -> int:
    means = [Mean.over_policies(rows, f"{name}_shock") or Mean(math.nan) for name in CHANNELS]
    angles = np.linspace(0.0, 2.0 * math.pi, len(means) + 1)
    closed = [*means, means[0]]
    axes.plot(angles, [mean.value for mean in closed], **style)
    if style["color"] != "black":
        low, high = (np.clip([getattr(mean, end) for mean in closed], 0, 1) for end in ("low", "high"))
        axes.fill_between(angles, low, high, color=style["color"], alpha=0.2, linewidth=0)
    return max(mean.n for mean in means)
