"""The trade-off front of a search: how often a policy fails over the distance from nominal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from brittlestar.reports.drawing import COLOURS, make_figure, open_frame, save_figure, set_title
from brittlestar.reports.sections import Chart
from brittlestar.studies.search.plan import BREAKING_SHARE, RANDOM, SEARCH, SearchOutcome
from brittlestar.studies.search.tables import front

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_STYLES = {SEARCH: (COLOURS[0], "o"), RANDOM: (COLOURS[1], "s")}
_MOST_ACROSS = 3


def draw_fronts(outcomes: dict[str, SearchOutcome], path: Path) -> None:
    """Draws a panel per policy: all points, the front of search and of random draws, and what was confirmed."""
    across = min(len(outcomes), _MOST_ACROSS)
    down = -(-len(outcomes) // across)
    figure = make_figure(1.4 + 4.4 * across, 0.5 + 3.6 * down)
    panels = figure.subplots(down, across, squeeze=False).ravel()
    for panel in panels[len(outcomes) :]:
        panel.set_visible(False)
    for panel, (name, outcome) in zip(panels, outcomes.items(), strict=False):
        _draw(panel, outcome)
        set_title(panel, name)
    handles = dict(zip(*reversed(panels[0].get_legend_handles_labels()), strict=True))
    style: dict[str, Any] = {"ncols": 3, "frameon": False, "fontsize": 8}
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", **style)
    save_figure(figure, path)


def _draw(panel: Axes, outcome: SearchOutcome) -> None:
    panel.axhline(BREAKING_SHARE, color="0.7", linewidth=0.8, linestyle=":")
    for method, tried in outcome.tried.items():
        if not front(tried):
            continue
        colour, marker = _STYLES[method]
        shares = [(point.distance, point.share) for point in tried if point.share is not None]
        panel.plot(
            *zip(*shares, strict=True), marker, color=colour, markersize=3, alpha=0.35, mew=0, label=f"{method}: points"
        )
        best = [(point.distance, point.share) for point in front(tried)]
        panel.step(*zip(*best, strict=True), where="post", color=colour, linewidth=1.5, label=f"{method}: front")
    for method, found in outcome.found.items():
        if found is not None:
            colour, marker = _STYLES[method]
            low, high = found.interval
            errors = [[found.share - low], [high - found.share]]
            style: dict[str, Any] = {"marker": "D", "markersize": 6, "mec": "black", "mew": 0.8, "linestyle": ""}
            style |= {"color": colour, "ecolor": "black", "capsize": 3, "zorder": 5}
            label = f"{method}: confirmed on fresh seeds"
            panel.errorbar([found.found.distance], [found.share], errors, label=label, **style)
    panel.set_xlim(left=0)
    panel.set_ylim(-0.03, 1.03)
    panel.set_xlabel("distance from nominal (critical levels)")
    panel.set_ylabel("share of failed episodes")
    open_frame(panel)


def _steps(points: list[tuple[float, float]]) -> tuple[list[float], list[float]]:
    """Returns the corners of a line that rises only where it has a point."""
    before = [0.0, *(share for _, share in points)]
    corners = [corner for (x, y), low in zip(points, before, strict=False) for corner in ((x, low), (x, y))]
    return [x for x, _ in corners], [y for _, y in corners]


def front_chart(outcomes: dict[str, SearchOutcome], pictures: list[str]) -> Chart:
    """Returns the fronts for the page."""
    panels = []
    for name, outcome in outcomes.items():
        lines: list[dict[str, Any]] = []
        for method, tried in outcome.tried.items():
            x, mean = _steps([(point.distance, point.share or 0.0) for point in front(tried)])
            lines.append({"name": f"{method}: front", "x": x, "mean": mean})
        for method, found in outcome.found.items():
            if found is not None:
                low, high = found.interval
                line: dict[str, Any] = {
                    "name": f"{method}: confirmed",
                    "x": [found.found.distance],
                    "mean": [found.share],
                }
                lines.append(line | {"low": [low], "high": [high]})
        panels.append({"title": name, "lines": lines})
    data = {"panels": panels, "x": "distance from nominal (critical levels)", "y": "share of failed episodes"}
    return Chart("lines", "Trade-off front", data | {"share": True, "chooser": "Policy"}, pictures)
