"""The picture of a fingerprint: one row for each axis, the policies over each other."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

from brittlestar.reports.drawing import make_figure, open_frame, save_figure, series_style
from brittlestar.studies.critical.curves import CriticalCurve
from brittlestar.studies.fingerprint.axes import FingerprintAxis

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LEAST, _MOST = 1 / 256, 4.0
_TICKS = {1 / 256: "1/256", 1 / 64: "1/64", 1 / 16: "1/16", 1 / 4: "1/4", 1: "large", 4: "4 ×"}
_UNDECIDED = "$?$"


def draw_fingerprint(prints: dict[str, dict[str, CriticalCurve]], axes: list[FingerprintAxis], path: Path) -> None:
    """Draws the critical level of every axis, relative to its large level, with intervals."""
    used = [axis for axis in axes if any(axis.name in own for own in prints.values())]
    figure = make_figure(8.6, 0.9 + 0.36 * len(used) + 0.2 * len(prints))
    panel = figure.subplots()
    spread = 0.5 / max(len(prints), 1)
    for number, (name, own) in enumerate(prints.items()):
        style, is_named = series_style(number), False
        for row, axis in enumerate(used):
            if axis.name in own:
                height = row + (number - (len(prints) - 1) / 2) * spread
                _draw_level(panel, own[axis.name], axis, height, style | {"label": None if is_named else name})
                is_named = True
    _dress(panel, used)
    if len(prints) > 1:
        figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=8)
    save_figure(figure, path)


def _draw_level(panel: Axes, curve: CriticalCurve, axis: FingerprintAxis, height: float, style: dict) -> None:
    value, large = curve.estimate, abs(axis.large)
    if value is None:
        # No critical level: an arrow from the largest level, a cross at 0, or a question mark.
        most = 0.0 if curve.look.status == "incapable" else float(curve.outcomes.trials.levels.max()) / large
        mark = {"robust": ">", "incapable": "x"}.get(curve.look.status, _UNDECIDED)
        panel.plot(_inside(most), height, **(style | {"marker": mark, "linestyle": "", "fillstyle": "none"}))
        return
    x, low, high = (_inside(number / large) for number in value)
    panel.errorbar(x, height, xerr=[[x - low], [high - x]], capsize=2, markersize=5, **style)
    panel.plot([_LEAST, x], [height, height], color=style["color"], alpha=0.25, linewidth=3, zorder=0)


def _inside(share: float) -> float:
    return min(max(share, _LEAST), _MOST) if math.isfinite(share) else _MOST


def _dress(panel: Axes, axes: list[FingerprintAxis]) -> None:
    panel.set_xscale("log")
    panel.set_xlim(_LEAST * 0.9, _MOST * 1.25)
    panel.set_xticks(list(_TICKS), labels=list(_TICKS.values()), fontsize=8)
    panel.minorticks_off()
    panel.axvline(1, color="0.6", linewidth=0.8, linestyle=":")
    names = [f"{axis.name} ({axis.large_text})" for axis in axes]
    panel.set_yticks(range(len(axes)), labels=names, fontsize=8)
    panel.set_ylim(len(axes) - 0.4, -0.6)
    text = "critical level, relative to the large level in brackets\n(an arrow: holds up to there; ?: not decided)"
    panel.set_xlabel(text, fontsize=8)
    open_frame(panel)
