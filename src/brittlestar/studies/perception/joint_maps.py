"""Pictures of a joint sweep: a map of success for every pair of axes, and all axes at once."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from brittlestar.reports.drawing import COLOURS, Pages, draw_series, open_frame, remove_pictures, set_title
from brittlestar.reports.heatmaps import draw_fields
from brittlestar.results.format import text
from brittlestar.studies.perception.axes import Axis
from brittlestar.studies.perception.joint_scores import OPEN, JointScores, Place
from brittlestar.studies.perception.swept_cells import SweptPolicy
from brittlestar.studies.perception.training_ranges import SEEN_BEFORE, was_trained

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LEGEND = (
    "In a map, brackets hold what the product of the single axes promises, a star marks a difference that is decided, "
    "and a frame holds the levels that were in training."
)


def draw_joint(scored: list[tuple[SweptPolicy, JointScores]], axes: dict[str, Axis], path: Path) -> list[str]:
    """Draws a row of panels for every policy, and returns the names of the pictures."""
    remove_pictures(path.parent, path.name, f"{path.name}_*")
    pairs: list[tuple[int, ...]] = list(itertools.combinations(range(len(axes)), 2))
    panels = [(agent, scores, pair) for agent, scores in scored for pair in [*pairs, ()]]
    pages = Pages(path, panels)
    for _, page in pages.draw(width=4.4, across=len(pairs) + 1):
        for panel, (agent, scores, pair) in page:
            if pair:
                _draw_pair(panel, agent, scores, axes, pair)
            else:
                _draw_diagonal(panel, scores)
            at_zero = [f"{name} = 0" for i, name in enumerate(axes) if i not in pair]
            set_title(panel, agent.name, ", ".join(at_zero) if pair else "all axes at once")
    return pages.names


def _draw_pair(
    panel: Axes, agent: SweptPolicy, scores: JointScores, axes: dict[str, Axis], pair: tuple[int, ...]
) -> None:
    (x, across), (y, along) = ((list(axes.items())[i][0], scores.levels[i]) for i in pair)
    values, texts = np.full((len(along), len(across)), np.nan), dict[tuple[int, ...], str]()
    for j, i in itertools.product(range(len(across)), range(len(along))):
        place = place_of(scores, {pair[0]: across[j], pair[1]: along[i]})
        if place in scores.gaps:
            values[i, j], texts[i, j] = scores.gaps[place].measured, _field(scores, place)
    draw_fields(panel, values, (axes[x].strengths, axes[y].strengths), texts, "success rate")
    panel.set_xlabel(f"{x} ({axes[x].strength})")
    panel.set_ylabel(f"{y} ({axes[y].strength})")
    sides = [sum(was_trained(s, agent.trained[name]) == SEEN_BEFORE for s in axes[name].strengths) for name in (x, y)]
    if all(sides):
        from matplotlib.patches import Rectangle

        panel.add_patch(Rectangle((-0.5, -0.5), *sides, fill=False, edgecolor=COLOURS[1], linewidth=3, clip_on=False))


def place_of(scores: JointScores, chosen: dict[int, float]) -> Place:
    """Returns the place with some levels; those of other axes are 0."""
    return tuple(chosen.get(axis, 0.0) for axis in range(len(scores.levels)))


def _field(scores: JointScores, place: Place) -> str:
    gap = scores.gaps[place]
    if place not in scores.p_holm:
        return text(round(gap.measured, 2))
    star = "" if scores.verdict(place) == OPEN else " *"
    return f"{text(round(gap.measured, 2))}{star}\n({text(round(gap.promised, 2))})"


def _draw_diagonal(panel: Axes, scores: JointScores) -> None:
    """Draws success where all axes have the same level, and the promise."""
    places = [place for place in zip(*scores.levels, strict=True) if place in scores.gaps]
    rows = [{"strength": place[0]} | scores.gaps[place].as_row("success") for place in places]
    draw_series(panel, rows, "success", "measured", color=COLOURS[0], marker="o")
    promised = [row | {"promised": row["success"]} if row["strength"] == 0 else row for row in rows]
    x, y = [row["strength"] for row in promised], [row["promised"] for row in promised]
    panel.plot(x, y, color=COLOURS[1], linestyle="--", marker="s", markersize=3, label="promised by the product")
    panel.set_xlabel("level of all axes")
    panel.set_ylabel("success rate")
    panel.set_ylim(-0.03, 1.03)
    panel.legend(frameon=False, fontsize=8)
    open_frame(panel)
