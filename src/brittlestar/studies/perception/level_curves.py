"""Success over the strength of every axis: a panel per axis, a curve per policy."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from brittlestar.reports.drawing import draw_series, make_figure, open_frame, save_figure, series_style
from brittlestar.results.load import Row
from brittlestar.studies.perception.training_ranges import SEEN_BEFORE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_IN_TRAINING = "line below: levels that were in training (fit, not generalisation); a tick: only the nominal scene"
_STRIP = 0.035
"""Height of the line of one policy, in parts of the axis."""


def draw_level_curves(policies: dict[str, list[Row]], path: Path) -> None:
    """Draws rows of `perception_levels`, by the name of the policy."""
    names = list(dict.fromkeys(row["axis"] for rows in policies.values() for row in rows))
    figure = make_figure(0.6 + 3.6 * len(names), 3.8)
    panels = figure.subplots(1, len(names), squeeze=False, sharey=True)[0]
    is_marked = False
    for panel, name in zip(panels, names, strict=True):
        for number, (policy, rows) in enumerate(policies.items()):
            own = [row for row in rows if row["axis"] == name]
            draw_series(panel, own, "success", policy, **series_style(number))
            is_marked |= _mark(panel, own, number)
        panel.set_ylim(-0.03 - _STRIP * len(policies), 1.03)
        panel.set_xlabel(f"{own[0]['strength_name']} of {own[0]['perturbation']}")
        panel.set_title(name, fontsize=10)
        open_frame(panel)
    panels[0].set_ylabel("success rate")
    style = {"ncols": 4, "frameon": False, "fontsize": 8, "title_fontsize": 8}
    title = _IN_TRAINING if is_marked else None
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", title=title, **style)
    save_figure(figure, path)


def _mark(panel: Axes, rows: list[Row], number: int) -> bool:
    """Draws a line below the curves from 0 to the last level in training; returns whether there is one."""
    trained = [row["strength"] for row in rows if row["in_training"] == SEEN_BEFORE]
    if not trained:
        return False
    height, colour = -0.03 - _STRIP * (number + 0.5), series_style(number)["color"]
    # A training without perturbation has only 0: a tick.
    panel.plot([0, max(trained)], [height, height], color=colour, linewidth=4, solid_capstyle="butt")
    panel.plot([0, max(trained)], [height, height], color=colour, linestyle="", marker="|", markersize=7, mew=2)
    return True
