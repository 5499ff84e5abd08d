"""Heat maps with printed numbers: collapse per agent, vulnerability per environment."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from brittlestar.results.load import Row
from brittlestar.studies.stress.figures.canvas import GREY, SILENT_NOTE, blank, policies, title, wrapped
from brittlestar.studies.stress.figures.rows import BASELINE, Mean, Study, grouped, mean_of_these, need

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_AGENTS = 40
"""More agents than this are drawn by environment."""
MOST_ROWS = 60
_BOUNDS = "Intervals: 95 %, over seeds and episodes, of these very policies: the mean of their bounds."


def collapse_map(study: Study) -> Figure:
    """Draws the collapse rate in the shock of each agent (of each environment, if there are many) and stressor."""
    need(study.stress, "stress", "rate_shock")
    agents = grouped(study.stress, "agent")
    rows = agents if len(agents) <= MOST_AGENTS else grouped(study.stress, "place")
    what = "agent" if rows is agents else "environment"
    figure = _map(study, rows, "rate_shock", study.stressors, "Blues")
    text = f"Collapse rate in the shock (CR) per {what} and stressor; baseline is without stress"
    return title(figure, text, SILENT_NOTE, f"{_counts(study)} {_BOUNDS}")


def vulnerability_map(study: Study) -> Figure:
    """Draws how much more often each environment's agents collapse than in the same episodes without stress."""
    need(study.stress, "stress", "excess")
    stressors = [name for name in study.stressors if name != BASELINE]
    figure = _map(study, grouped(study.stress, "place"), "excess", stressors, "Oranges")
    text = "Vulnerability: CR in the shock minus CR of the same episodes without stress, mean over policies"
    return title(figure, text, SILENT_NOTE, f"{_counts(study)} {_BOUNDS}")


def _map(study: Study, rows: dict[str, list[Row]], column: str, stressors: list[str], colours: str) -> Figure:
    names = sorted(rows)[:MOST_ROWS]
    table = {
        name: {key: mean_of_these(part, column) for key, part in grouped(rows[name], "stressor").items()}
        for name in names
    }
    longest = max(map(len, names)) + 16
    figure = blank(max(6.5, 1.4 + 0.062 * longest + 0.82 * len(stressors)), 1.9 + 0.36 * len(names))
    axes = figure.add_subplot()
    _colour(axes, [[table[name].get(key) for key in stressors] for name in names], colours)
    for y, name in enumerate(names):
        for x, stressor in enumerate(stressors):
            proven = [row["proven"] for row in rows[name] if row["stressor"] == stressor]
            if proven and all(proven):
                _hatch(axes, x, y)
            elif (mean := table[name].get(stressor)) is not None:
                _write(axes, x, y, mean)
    axes.set_xticks(range(len(stressors)), [wrapped(name) for name in stressors], fontsize=8)
    axes.set_yticks(range(len(names)), _labels(table), fontsize=8)
    axes.tick_params(length=0)
    axes.xaxis.tick_top()
    axes.spines[:].set_visible(False)
    return figure


def _colour(axes: Axes, table: list[list[Mean | None]], colours: str) -> None:
    import matplotlib
    import numpy as np

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
        text = f"[{_two(mean.low)}, {_two(mean.high)}]"
        axes.text(x, y + 0.24, text, ha="center", va="center", fontsize=6, color=colour)


def _hatch(axes: Axes, x: int, y: int) -> None:
    from matplotlib.patches import Rectangle

    axes.add_patch(Rectangle((x - 0.5, y - 0.5), 1, 1, facecolor="white", edgecolor=GREY, hatch="///", linewidth=0))


def _labels(table: dict[str, dict[str, Mean | None]]) -> list[str]:
    counts = [max((mean.n for mean in means.values() if mean is not None), default=0) for means in table.values()]
    several = max(counts) > 1
    return [f"{name} ({policies(n)})" if several else name for name, n in zip(table, counts, strict=True)]


def _two(value: float) -> str:
    """Writes two digits, and never -0.00."""
    return f"{round(value, 2) + 0.0:.2f}"


def _counts(study: Study) -> str:
    seeds = sorted({int(row["n_seeds"]) for row in study.stress if row.get("n_seeds")})
    modes = len({row["mode"] for row in study.stress})
    told = f"{seeds[0]}–{seeds[-1]}" if len(set(seeds)) > 1 else "".join(map(str, seeds))
    return f"n: {told or 'unknown'} seeds, mean over {modes} mode{'s' if modes > 1 else ''}."
