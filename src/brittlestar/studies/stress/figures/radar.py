"""The five channels in the shock, one small radar per stressor."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from brittlestar.reports.drawing import COLOURS
from brittlestar.results.load import Row
from brittlestar.studies.stress.compat_channels import CHANNELS
from brittlestar.studies.stress.figures.canvas import INTERVALS, blank, policies, title
from brittlestar.studies.stress.figures.rows import FigureTables, Mean, UnsuitedError, grouped, mean_over_policies, need
from brittlestar.studies.stress.plots import frame_radar
from brittlestar.studies.stress.runs import SILENT
from brittlestar.studies.stress.scoring import BASELINE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST_PANELS = 16
_LINES = "Line: mean in the shock, with its interval as a band. Dotted: the same episodes without stress."


def channel_radar(tables: FigureTables) -> Figure:
    """Draws the mean channels of the shock, with their interval as a band, and those without stress beside them."""
    need(tables.runs, "runs", *(f"{name}_shock" for name in CHANNELS))
    if not tables.acting:
        raise UnsuitedError("no stressor changed what any agent did")
    rows, stressors = grouped(tables.runs, "stressor"), tables.acting[:_MOST_PANELS]
    across = min(3, len(stressors))
    down = math.ceil(len(stressors) / across)
    figure = blank(max(6.0, 3.1 * across), 2.5 * down + 1.2)
    for number, stressor in enumerate(stressors):
        axes = figure.add_subplot(down, across, number + 1, projection="polar")
        if BASELINE in rows:
            _line(axes, rows[BASELINE], {"color": "black", "linestyle": ":", "linewidth": 1.2})
        n = _line(axes, rows[stressor], {"color": COLOURS[0], "marker": "o", "markersize": 4})
        frame_radar(axes)
        axes.set_title(f"{stressor} ({policies(n)})", fontsize=9, pad=10)
    left_out = f"Left out, since they {SILENT}: {', '.join(sorted(tables.silent))}." if tables.silent else ""
    return title(figure, "Channels in the shock", left_out, _LINES, INTERVALS)


def _line(axes: Any, rows: list[Row], style: dict[str, Any]) -> int:
    means = [mean_over_policies(rows, f"{name}_shock") or Mean(math.nan) for name in CHANNELS]
    angles = np.linspace(0.0, 2.0 * math.pi, len(means) + 1)
    closed = [*means, means[0]]
    axes.plot(angles, [mean.value for mean in closed], **style)
    if style["color"] != "black":
        low, high = (np.clip([getattr(mean, end) for mean in closed], 0, 1) for end in ("low", "high"))
        axes.fill_between(angles, low, high, color=style["color"], alpha=0.2, linewidth=0)
    return max(mean.n for mean in means)
