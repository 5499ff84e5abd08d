"""Reward over time: one picture per environment, model and perturbation, with a line per strength."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from brittlestar.reports import drawing
from brittlestar.reports.curve_names import MOST_LETTERS, curve_names
from brittlestar.reports.sheets import MODELS, REVERSED
from brittlestar.results.format import text
from brittlestar.results.reward_curves import RewardCurve

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_PICTURES = 100
_MOST_PANELS = 6
_MOST_LINES = 12
_DPI = 110
_LONGEST_NAME = 100
_BAND = "band: the middle half of the episodes"


def plot_rewards(curves: list[RewardCurve], labels: list[str], folder: Path) -> drawing.Pictures:
    """Draws the cumulative reward against the step as `ENV/POLICY-PERTURBATION.png`, a panel per other setting.

    Returns:
        Names of the pictures, without suffix, and of what did not fit on them.
    """
    models = [c for c in MODELS if c in labels]
    groups: dict[tuple, list[RewardCurve]] = {}
    for curve in curves:
        groups.setdefault((curve.env_id, *(curve.label[c] for c in (*models, "perturbation"))), []).append(curve)
    columns = [c for c in labels if c not in ("env", *models, "perturbation")]
    names = _model_names(models, groups)
    for env_id in {key[0] for key in groups}:
        drawing.remove_pictures(folder / _file_name(env_id), "*-*")
    pictures: list[str] = []
    left_out: list[str] = []
    for key, members in groups.items():
        env_id, *model, perturbation = key
        name = f"{_file_name(env_id)}/{_file_name(names[tuple(model)])}-{_file_name(text(perturbation))}"
        name += f"_{len(pictures)}" if name in pictures else ""
        if len(pictures) == MOST_PICTURES:
            left_out.append(name)
            continue
        title = f"{names[tuple(model)]}, {env_id}, {text(perturbation)}"
        left_out += [f"{name}: {part}" for part in _draw(members, columns, title, folder / f"{name}.png")]
        pictures.append(name)
    return pictures, left_out


def _model_names(models: list[str], groups: dict[tuple, list[RewardCurve]]) -> dict[tuple, str]:
    keys = list(dict.fromkeys(key[1:-1] for key in groups))
    return {key: name or text(key[-1]) for key, name in curve_names(models, keys, MOST_LETTERS).items()}


def _file_name(name: str) -> str:
    return re.sub(r"[^\w.-]+", "_", name)[-_LONGEST_NAME:]


def _draw(curves: list[RewardCurve], columns: list[str], title: str, path: Path) -> list[str]:
    """Draws one picture and returns the names of panels and lines that did not fit on it."""
    panels: dict[tuple, list[RewardCurve]] = {}
    for curve in curves:
        panels.setdefault(tuple(curve.label[c] for c in columns), []).append(curve)
    names = curve_names(columns, panels, MOST_LETTERS)
    drawn = list(panels.items())[:_MOST_PANELS]
    figure = drawing.make_figure(0.8 + 5.2 * len(drawn), 4.2)
    grid = figure.subplots(1, len(drawn), squeeze=False, sharey=True)[0]
    left_out = [names[key] for key in list(panels)[_MOST_PANELS:]]
    for axes, (key, members) in zip(grid, drawn, strict=True):
        left_out += [f"{names[key]} {text(curve.strength)}".strip() for curve in _panel(axes, members)]
        axes.set_title(names[key], fontsize=9)
    _finish(grid[0], curves)
    # Nine capital letters an inch.
    figure.suptitle(textwrap.fill(title, int(9 * figure.get_figwidth())), fontsize=10)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=_DPI)
    return left_out


def _panel(axes: Axes, curves: list[RewardCurve]) -> list[RewardCurve]:
    """Draws the lines of a panel, dark for weak and light for strong, and returns those that are too many."""
    import matplotlib

    curves = sorted(curves, key=lambda curve: abs(curve.strength))
    # Of many levels, the ends and those between at equal distances.
    places = np.unique(np.linspace(0, len(curves) - 1, _MOST_LINES).round().astype(int))
    colours = matplotlib.colormaps["viridis"](np.linspace(0.0, 0.9, len(places)))
    for place, colour in zip(places, colours, strict=True):
        curve = curves[place]
        axes.plot(curve.steps, curve.mean, color=colour, linewidth=1.5, label=text(curve.strength))
        axes.fill_between(curve.steps, curve.low, curve.high, color=colour, alpha=0.12, linewidth=0)
    name = next((curve.strength_name for curve in curves if curve.strength_name), "strength")
    axes.legend(title=name, fontsize=7, title_fontsize=8, frameon=False)
    axes.set_xlabel("step of the episode")
    axes.locator_params(axis="x", integer=True)
    drawing.open_frame(axes)
    return [curve for place, curve in enumerate(curves) if place not in places]


def _finish(axes: Axes, curves: list[RewardCurve]) -> None:
    """Labels the axis that all panels share; it is reversed where all rewards are negative."""
    negative = max(float(curve.mean[-1]) for curve in curves) < 0
    if negative:
        axes.invert_yaxis()
    axes.set_ylabel(f"cumulative reward\n({_BAND})" + REVERSED * negative)
