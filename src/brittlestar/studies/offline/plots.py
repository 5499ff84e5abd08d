"""Scatter plots of success against measures on recorded episodes, one point for each policy."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brittlestar.reports.drawing import make_figure, open_frame, save_figure, series_style
from brittlestar.results.format import is_missing
from brittlestar.results.load import Row
from brittlestar.studies.offline.agreement import Level, agreement_text, present_measures
from brittlestar.studies.offline.measures import LOWER_IS_BETTER

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_LEVELS, MOST_MEASURES = 5, 6
_WIDE = 20.0
"""Ratio between the largest and the smallest value from which an axis is logarithmic."""
_MOST_NAMES = 21


def plot_agreement(
    policies: list[Row], levels: list[Level], agreements: list[Row], success: str, path: Path
) -> list[str]:
    """Draws success against every measure, a column for each level; returns the names of levels that did not fit.

    Args:
        policies: the rows of the policies.
        levels: success by level.
        agreements: the correlations, for the titles.
        success: name of the vertical axis.
        path: of the picture, without a suffix.
    """
    measures = present_measures(policies)[:MOST_MEASURES]
    shown = _spread_out(levels)
    if not measures or not shown:
        return []
    figure = make_figure(2.5 * len(shown) + 1.9, 2.2 * len(measures) + 0.3, w_pad=0.06, h_pad=0.06)
    grid: Any = figure.subplots(len(measures), len(shown), squeeze=False, sharey=True)
    texts = {(row["measure"], row["level"]): agreement_text(row) for row in agreements}
    for measure, line in zip(measures, grid, strict=True):
        for level, axes in zip(shown, line, strict=True):
            _scatter(axes, policies, measure, level)
            heading = f"{level.name}\n" if measure == measures[0] else ""
            text = texts.get((measure, level.name))
            axes.set_title(heading + (f"ρ = {text}" if text else ""), fontsize=8)
        line[0].set_ylabel(success.replace("_", " "), fontsize=8)
    points, names = grid[0][0].get_legend_handles_labels()
    figure.supxlabel(_meaning(measures), fontsize=7)
    figure.legend(points[:_MOST_NAMES], names[:_MOST_NAMES], loc="outside right upper", fontsize=7, frameon=False)
    save_figure(figure, path)
    return [level.name for level in levels if level not in shown]


def _better(measure: str) -> str:
    return "lower" if measure in LOWER_IS_BETTER else "higher"


def _meaning(measures: list[str]) -> str:
    """Returns what the sign of the correlations means: they are of errors and distances with a turned sign."""
    turned = any(measure in LOWER_IS_BETTER for measure in measures)
    of = "ρ: rank correlation with its 95 % interval"
    return (
        f"{of}; its sign is turned where lower is better,\nso 1 means that the better value has more success"
        if turned
        else of
    )


def _spread_out(levels: list[Level]) -> list[Level]:
    """Returns at most `MOST_LEVELS` levels, the first and the last among them."""
    if len(levels) <= MOST_LEVELS:
        return levels
    places = {round(i * (len(levels) - 1) / (MOST_LEVELS - 1)) for i in range(MOST_LEVELS)}
    return [levels[i] for i in sorted(places)]


def _scatter(axes: Axes, policies: list[Row], measure: str, level: Level) -> None:
    values = []
    for number, row in enumerate(policies):
        if is_missing(row.get(measure)) or row["policy"] not in level.success:
            continue
        middle, low, high = level.success[row["policy"]]
        bars = None if math.isnan(low) else [[max(0.0, middle - low)], [max(0.0, high - middle)]]
        axes.errorbar(row[measure], middle, bars, label=row["policy"], linestyle="none", markersize=4, capsize=1.5,
                      elinewidth=0.7, **series_style(number))  # fmt: skip
        values.append(row[measure])
    if values and min(values) > 0 and max(values) / min(values) > _WIDE:
        axes.set_xscale("log")
    axes.set_xlabel(measure.replace("_", " ") + f" ({_better(measure)} is better)", fontsize=8)
    axes.tick_params(labelsize=7)
    open_frame(axes)
