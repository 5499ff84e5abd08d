"""The picture of critical levels: fitted curves, outcomes at their levels, and where the episodes went."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from brittlestar.reports.drawing import COLOURS, Pages, open_frame, remove_pictures, set_title
from brittlestar.studies.critical.curves import CriticalCurve

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_BINS = 30
_HISTOGRAM = 0.16
"""Height of the histogram of episodes below the curves."""


def panels_of(curves: list[CriticalCurve]) -> dict[str, list[CriticalCurve]]:
    """Returns the curves of each panel by its title: those on the same perturbation, at most as many as colours."""
    panels: dict[str, list[CriticalCurve]] = {}
    for curve in curves:
        title = f"{curve.label.get('perturbation', '')}: {curve.key.rpartition('.')[2]}"
        while len(panels.get(title, ())) >= len(COLOURS):
            title += " (more)"
        panels.setdefault(title, []).append(curve)
    return panels


def draw_curves(curves: list[CriticalCurve], path: Path) -> list[str]:
    """Draws a panel for each perturbation, and returns the names of the pictures."""
    remove_pictures(path.parent, path.name, f"{path.name}_*")
    pages = Pages(path, list(panels_of(curves).items()))
    for _, panels in pages.draw(width=5.2, across=3):
        for axes, (title, members) in panels:
            _draw_panel(axes, members)
            set_title(axes, title)
    return pages.names


def _draw_panel(axes: Axes, curves: list[CriticalCurve]) -> None:
    # Clean episodes alone have no range.
    end = max(_end(curve) for curve in curves) or 1.0
    for number, curve in enumerate(curves):
        _draw_curve(axes, curve, end, COLOURS[number])
    _draw_histogram(axes, curves, end)
    threshold = curves[0].search.threshold
    if not threshold.relative:
        axes.axhline(threshold.value, color="0.6", linewidth=0.8, linestyle=":")
    axes.set_xlim(*sorted((0, curves[0].sign * end * 1.02)))
    axes.set_ylim(-_HISTOGRAM - 0.02, 1.03)
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1])
    axes.set_xlabel(curves[0].key.removeprefix("perturbation."))
    axes.set_ylabel("share of the best return" if threshold.relative else "success rate")
    if len(curves) > 1:
        axes.legend(frameon=False, fontsize=8)
    open_frame(axes)


def _end(curve: CriticalCurve) -> float:
    most = float(curve.outcomes.trials.levels.max())
    return min(most, 2.5 * curve.look.fit.estimate) if curve.estimate else most


def _draw_curve(axes: Axes, curve: CriticalCurve, end: float, colour: str) -> None:
    """Draws the fit with its band, the outcomes with areas by their number, the interval and the bracket."""
    x, mean, (low, high) = curve.line(np.linspace(0, min(end, float(curve.outcomes.trials.levels.max())), 201))
    axes.plot(curve.sign * x, mean, color=colour, label=curve.name, linewidth=1.5)
    axes.fill_between(curve.sign * x, low, high, color=colour, alpha=0.18, linewidth=0)
    data = curve.outcomes.trials.merged()
    axes.scatter(
        curve.sign * data.levels,
        data.sums / data.counts,
        s=6 + 0.25 * data.counts,
        color=colour,
        alpha=0.55,
        linewidth=0,
    )
    value = curve.estimate
    if value is None:
        return
    height = float(curve.look.fit.mean([value.value])[0])
    axes.axvspan(*sorted((curve.sign * value.low, curve.sign * value.high)), color=colour, alpha=0.25, linewidth=0)
    ends = np.clip([max(end_, 0) for end_ in curve.look.bracket], 0, end * 1.02)
    axes.plot(curve.sign * ends, [height, height], color=colour, linewidth=1, marker="|", markersize=9)


def _draw_histogram(axes: Axes, curves: list[CriticalCurve], end: float) -> None:
    """Draws how many episodes each part of the range got, below 0."""
    edges = np.linspace(0, end * 1.0001, _BINS + 1)
    counts = [np.histogram(b.levels, edges, weights=b.counts)[0] for b in (c.outcomes.trials for c in curves)]
    most, wide = max(part.max() for part in counts), (edges[1] - edges[0]) / len(curves)
    for number, (curve, part) in enumerate(zip(curves, counts, strict=True)):
        left = curve.sign * (edges[:-1] + (number + 0.5) * wide)
        height = part / most * _HISTOGRAM
        axes.bar(left, height, width=wide * 0.9, bottom=-_HISTOGRAM - 0.02, color=COLOURS[number], alpha=0.6)
    axes.text(0.99, 0.01, "episodes", transform=axes.transAxes, ha="right", va="bottom", fontsize=7, color="0.4")
