"""Heat maps with printed numbers: collapse per agent, vulnerability per environment."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from brittlestar.results.format import brackets
from brittlestar.results.load import Row
from brittlestar.studies.stress.figures.canvas import GREY, SILENT_NOTE, blank, policies, title, wrapped
from brittlestar.studies.stress.figures.rows import FigureTables, Mean, grouped, mean_of_these, need
from brittlestar.studies.stress.scoring import BASELINE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST_AGENTS = 40
"""More agents than this are drawn by environment."""
_MOST_ROWS = 60
_BOUNDS = "Intervals: 95 %, over seeds and episodes, of these very policies: the mean of their bounds."


def collapse_map(tables: FigureTables) -> Figure:
    """Draws the collapse rate in the shock of each agent (of each environment, if there are many) and stressor."""
    need(tables.stress, "stress", "rate_shock")
    agents = grouped(tables.stress, "agent")
    rows = agents if len(agents) <= _MOST_AGENTS else grouped(tables.stress, "place")
    what = "agent" if rows is agents else "environment"
    figure = _map(rows, "rate_shock", tables.stressors, "Blues")
    text = f"Collapse rate in the shock (CR) per {what} and stressor; baseline is without stress"
    return title(figure, text, SILENT_NOTE, f"{_counts(tables)} {_BOUNDS}")


def vulnerability_map(tables: FigureTables) -> Figure:
    """Draws how much more often each environment's agents collapse than in the same episodes without stress."""
    need(tables.stress, "stress", "excess")
    stressors = [name for name in tables.stressors if name != BASELINE]
    figure = _map(grouped(tables.stress, "place"), "excess", stressors, "Oranges")
    text = "Vulnerability: CR in the shock minus CR of the same episodes without stress, mean over policies"
    return title(figure, text, SILENT_NOTE, f"{_counts(tables)} {_BOUNDS}")


def _map(rows: dict[str, list[Row]], column: str, stressors: list[str], colours: str) -> Figure:
    names = sorted(rows)[:_MOST_ROWS]
    cells = {name: grouped(rows[name], "stressor") for name in names}
    means = {name: {key: mean_of_these(part, column) for key, part in parts.items()} for name, parts in cells.items()}
    longest = max(map(len, names)) + 16
    figure = blank(max(6.5, 1.4 + 0.062 * longest + 0.82 * len(stressors)), 1.9 + 0.36 * len(names))
    axes = figure.add_subplot()
    _colour(axes, [[means[name].get(key) for key in stressors] for name in names], colours)
    for y, name in enumerate(names):
        for x, stressor in enumerate(stressors):
            part, mean = cells[name].get(stressor, []), means[name].get(stressor)
            if part and all(row["proven"] for row in part):
                _hatch_field(axes, x, y)
            elif mean is not None:
                _write(axes, x, y, mean)
    counts = [max((mean.n for mean in own.values() if mean is not None), default=0) for own in means.values()]
    several = max(counts) > 1
    labels = [f"{name} ({policies(n)})" if several else name for name, n in zip(names, counts, strict=True)]
    axes.set_xticks(range(len(stressors)), [wrapped(name) for name in stressors], fontsize=8)
    axes.set_yticks(range(len(names)), labels, fontsize=8)
    axes.tick_params(length=0)
    axes.xaxis.tick_top()
    axes.spines[:].set_visible(False)
    return figure


def _colour(axes: Axes, table: list[list[Mean | None]], colours: str) -> None:
    import matplotlib

    values = np.array([[math.nan if mean is None else mean.value for mean in line] for line in table])
    picture = axes.imshow(np.ma.masked_invalid(values), cmap=colours, vmin=0.0, vmax=1.0, aspect="auto")
    picture.set_cmap(matplotlib.colormaps[colours].with_extremes(bad="white"))
    axes.set_xticks(np.arange(values.shape[1] + 1) - 0.5, minor=True)
    axes.set_yticks(np.arange(values.shape[0] + 1) - 0.5, minor=True)
    axes.grid(which="minor", color="white", linewidth=1.5)
    axes.tick_params(which="minor", length=0)
    assert axes.figure is not None
    bar = axes.figure.colorbar(picture, ax=axes, fraction=0.03, pad=0.02)
    bar.ax.tick_params(labelsize=8)


def _write(axes: Axes, x: int, y: int, mean: Mean) -> None:
    colour = "white" if mean.value > 0.55 else "black"
    axes.text(x, y - 0.16, _two(mean.value), ha="center", va="center", fontsize=8, color=colour)
    if not math.isnan(mean.low):
        axes.text(x, y + 0.24, brackets(mean.low, mean.high, _two), ha="center", va="center", fontsize=6, color=colour)


def _hatch_field(axes: Axes, x: int, y: int) -> None:
    from matplotlib.patches import Rectangle

    axes.add_patch(Rectangle((x - 0.5, y - 0.5), 1, 1, facecolor="white", edgecolor=GREY, hatch="///", linewidth=0))


def _two(value: float) -> str:
    """Writes two digits, and never -0.00."""
    return f"{round(value, 2) + 0.0:.2f}"


def _counts(tables: FigureTables) -> str:
    seeds = sorted({int(row["n_seeds"]) for row in tables.stress if row.get("n_seeds")})
    modes = len({row["mode"] for row in tables.stress})
    numbers = "–".join(map(str, dict.fromkeys((seeds[0], seeds[-1])))) if seeds else "unknown"
    return f"n: {numbers} seeds, mean over {modes} mode{'s' if modes > 1 else ''}."
