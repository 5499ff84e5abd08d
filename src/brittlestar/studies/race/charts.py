"""How the difference of each pair of contestants became known: a plot, and a chart for the page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from brittlestar.reports.drawing import COLOURS, make_figure, open_frame, save_figure, set_title
from brittlestar.reports.page.numbers import finite
from brittlestar.reports.sections import Chart
from brittlestar.studies.race.duels import Duel
from brittlestar.studies.race.finished import FinishedRace

if TYPE_CHECKING:
    from matplotlib.axes import Axes


MOST_LINES = 6
_ACROSS = 3


def shown_duels(race: FinishedRace) -> list[Duel]:
    """Returns the pairs to draw: those of the contestant that is best so far, which have all others."""
    if len(race.duels) <= 3 or race.reference is not None:
        return race.duels[:MOST_LINES]
    scores = [0.0] * len(race.field.contestants)
    for duel in race.duels:
        scores[duel.first] += duel.decision.difference
        scores[duel.second] -= duel.decision.difference
    best = max(race.left or range(len(scores)), key=lambda place: scores[place])
    return [duel for duel in race.duels if best in (duel.first, duel.second)][:MOST_LINES]


def difference_chart(races: list[FinishedRace], pictures: list[str]) -> Chart:
    """Returns the difference and its interval after each pair, a panel for each race."""
    panels = [{"title": race.field.name, "lines": [_line(race, duel) for duel in shown_duels(race)]} for race in races]
    data = {"panels": panels, "x": "pairs", "y": f"difference in {races[0].scale.metric}", "chooser": "Race"}
    return Chart("lines", "Differences, after every pair", data, pictures)


def draw_differences(races: list[FinishedRace], path: Path) -> None:
    """Draws the difference and its interval over the number of pairs."""
    shown = races[:12]
    columns = min(len(shown), _ACROSS)
    rows = -(-len(shown) // columns)
    figure = make_figure(5.6 * columns if columns == 1 else 4.6 * columns, 3.6 * rows + 0.3)
    grid = figure.subplots(rows, columns, squeeze=False).ravel()
    for axes in grid[len(shown) :]:
        axes.set_visible(False)
    for axes, race in zip(grid, shown, strict=False):
        _draw(axes, race)
    save_figure(figure, path)


def _line(race: FinishedRace, duel: Duel) -> dict[str, Any]:
    counts, means, lows, highs = _path(race, duel)
    return {
        "name": " minus ".join(race.names(duel)), "x": counts, "mean": finite(means), "low": finite(lows),
        "high": finite(highs),
    }  # fmt: skip


def _path(race: FinishedRace, duel: Duel) -> tuple[list[int], list[float], list[float], list[float]]:
    """Returns pairs, difference and bounds, in the unit and the direction of the metric."""
    counts, means, intervals = duel.path()
    lows, highs = [float(one.low) for one in intervals], [float(one.high) for one in intervals]
    if race.scale.sign < 0:
        means, lows, highs = [-m for m in means], [-high for high in highs], [-low for low in lows]
    return counts, means, lows, highs


def _draw(axes: Axes, race: FinishedRace) -> None:
    axes.axhline(0, color="#888888", linewidth=0.8)
    for number, duel in enumerate(shown_duels(race)):
        counts, means, lows, highs = _path(race, duel)
        colour = COLOURS[number % len(COLOURS)]
        axes.plot(counts, means, color=colour, label=" minus ".join(race.names(duel)))
        axes.fill_between(counts, lows, highs, color=colour, alpha=0.18, linewidth=0)
        if duel.decision.sign and counts:
            axes.plot(counts[-1:], means[-1:], color=colour, marker="o", markersize=6)
    if any(duel.used.size for duel in shown_duels(race)):
        axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_xlabel("pairs (a dot: decided)")
    axes.set_ylabel(f"difference in {race.scale.metric}")
    set_title(axes, race.field.name)
    axes.legend(fontsize=7, frameon=False)
    open_frame(axes)
