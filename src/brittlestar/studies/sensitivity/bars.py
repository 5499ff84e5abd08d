"""The bar chart of a sensitivity study: a bar for each factor and index, with its interval."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from brittlestar.reports.drawing import COLOURS, make_figure, open_frame, save_figure, set_title
from brittlestar.reports.page.numbers import finite
from brittlestar.reports.sections import Chart
from brittlestar.results.load import Row
from brittlestar.results.rows import group_rows

_NAMES = {"total": "total index", "first": "first index", "effect": "effect over the range"}
_LABELS = {"total": "share of the variance of the response", "effect": "change of the response over the range"}
_ENDS = {"values": "", "low": "_low", "high": "_high"}
_THICK = 0.8
"""The bars of a factor together, as a share of its row."""


def draw_bars(rows: list[Row], measures: tuple[str, ...], path: Path) -> None:
    """Draws a panel for each policy."""
    groups = group_rows(rows, ["policy"])
    most = max(map(len, groups.values()))
    figure = make_figure(1.6 + 4.4 * len(groups), 1.2 + 0.45 * most)
    panels = figure.subplots(1, len(groups), squeeze=False, sharex=True)[0]
    for panel, ((name,), own) in zip(panels, groups.items(), strict=True):
        places, thick = np.arange(len(own))[::-1], _THICK / len(measures)
        for i, measure in enumerate(measures):
            values, low, high = (np.array([row[measure + end] for row in own]) for end in ("", "_low", "_high"))
            errors = np.maximum(np.stack([values - low, high - values]), 0)
            spots = places + _THICK / 2 - (i + 0.5) * thick
            style: dict[str, Any] = {"color": COLOURS[i], "ecolor": "0.25", "capsize": 2, "label": _NAMES[measure]}
            panel.barh(spots, values, thick, xerr=errors, **style)
        panel.axvline(0, color="0.4", linewidth=0.8)
        panel.set_yticks(places, [row["factor"] for row in own])
        panel.set_xlabel(_LABELS[measures[0]])
        set_title(panel, name)
        open_frame(panel)
    if len(measures) > 1:
        panels[-1].legend(frameon=False, fontsize=8, loc="lower right")
    save_figure(figure, path)


def bar_chart(rows: list[Row], measures: tuple[str, ...], pictures: list[str]) -> Chart:
    """Returns the same for the page."""
    panels = []
    for (name,), own in group_rows(rows, ["policy"]).items():
        bars = [
            {"name": _NAMES[measure]} | {key: finite(row[measure + end] for row in own) for key, end in _ENDS.items()}
            for measure in measures
        ]
        panels.append({"title": name, "names": [row["factor"] for row in own], "bars": bars})
    data = {"panels": panels, "x": _LABELS[measures[0]], "chooser": "Policy"}
    return Chart("bars", "What drives it", data, pictures)
