"""Pictures of a stress study, from its tables alone: scores over episodes, and the channels under stress."""

from __future__ import annotations

import itertools
import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from brittlestar.reports.drawing import COLOURS, make_figure, open_frame, remove_pictures, save_figure
from brittlestar.results.load import Row
from brittlestar.results.rows import group_rows
from brittlestar.studies.stress.compat_channels import CHANNELS
from brittlestar.studies.stress.runs import is_silent
from brittlestar.studies.stress.tables import StressTables

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GREY = "#D9D9D9"
_MOST_STRESSORS = 16
_STRESSOR = ("perturbation", "strength")
"""Columns that begin so describe the stressor, not the agent."""


def plot_stress(tables: StressTables, folder: Path) -> list[str]:
    """Draws a timeline and a radar per agent as PNG and PDF, and returns their names."""
    remove_pictures(folder, "stress_timeline*", "stress_radar*")
    keys = columns_of_agents(tables)
    agents, episodes = group_rows(tables.stress, keys), group_rows(tables.episodes, keys)
    names = []
    for agent, rows in agents.items():
        title = ", ".join(str(value) for value in agent[:2])
        slug = "" if len(agents) == 1 else "_" + re.sub(r"[^A-Za-z0-9]+", "_", "_".join(map(str, agent)))
        _plot_timeline(episodes[agent], title, folder / f"stress_timeline{slug}")
        _plot_radar(rows, title, folder / f"stress_radar{slug}")
        names += [f"stress_timeline{slug}", f"stress_radar{slug}"]
    return names


def columns_of_agents(tables: StressTables) -> list[str]:
    """Returns the columns that distinguish agents."""
    names = list(tables.stress[0])
    return [name for name in names[: names.index("n_seeds")] if not name.startswith(_STRESSOR)]


def frame_radar(axes: Any) -> None:
    """Names the channels around the circle, and its rings; no name lies on a line."""
    angles = np.linspace(0.0, 2.0 * math.pi, len(CHANNELS), endpoint=False)
    axes.set_theta_offset(math.pi / 2)
    axes.set_xticks(angles, CHANNELS, fontsize=8)
    axes.set_ylim(0.0, 1.0)
    # Between two spokes, where no line of a channel ends.
    axes.set_rlabel_position(36)
    axes.set_yticks([0.25, 0.5, 0.75, 1.0], ["", "0.5", "", "1"], fontsize=7)
    for text, angle in zip(axes.get_xticklabels(), angles, strict=True):
        across = -math.sin(angle)
        text.set_horizontalalignment("center" if abs(across) < 0.1 else "left" if across > 0 else "right")


def _plot_timeline(rows: list[Row], title: str, path: Path) -> None:
    """Draws the score over episodes, one panel per stressor."""
    panels = list(group_rows(rows, stressor_columns(rows)).items())[:_MOST_STRESSORS]
    across = min(4, len(panels))
    down = math.ceil(len(panels) / across)
    figure = make_figure(3.4 * across, 2.5 * down + 0.5)
    grid = figure.subplots(down, across, squeeze=False, sharex=True, sharey=True)
    for axes, (name, episodes) in zip(grid.flat, panels, strict=False):
        _draw_scores(axes, episodes)
        axes.set_title(stressor_name(name), fontsize=9)
    for axes in list(grid.flat)[len(panels) :]:
        axes.set_visible(False)
    for axes in grid[-1]:
        axes.set_xlabel("episode")
    for row in grid:
        row[0].set_ylabel("score")
    lines, names = grid[0][0].get_legend_handles_labels()
    figure.legend(lines, names, frameon=False, fontsize=8, ncols=2, loc="outside lower center")
    figure.suptitle(title, fontsize=10)
    save_figure(figure, path)


def _draw_scores(axes: Axes, rows: list[Row]) -> None:
    """Draws every seed thin, their mean thick, and the shock shaded."""
    seeds = group_rows(rows, ["seed"])
    scores = np.full((len(seeds), max(map(len, seeds.values()))), np.nan)
    for i, episodes in enumerate(seeds.values()):
        scores[i, : len(episodes)] = [row["score"] for row in episodes]
        axes.plot(scores[i], color=COLOURS[0], alpha=0.25, linewidth=0.6)
    axes.plot(np.nanmean(scores, axis=0), color=COLOURS[0], linewidth=1.4, label="score, mean over seeds")
    threshold = np.mean([row["threshold"] for row in rows])
    if np.isfinite(threshold):
        axes.axhline(threshold, color=COLOURS[1], linestyle="--", linewidth=1, label="threshold")
    for phase, run in itertools.groupby(next(iter(seeds.values())), key=lambda row: row["phase"]):
        places = [row["episode"] for row in run]
        if str(phase).startswith("shock"):
            axes.axvspan(places[0] - 0.5, places[-1] + 0.5, color=GREY, linewidth=0, zorder=0)
        axes.text(np.mean(places), 1.02, phase, ha="center", va="bottom", fontsize=7)
    axes.set_ylim(-0.02, 1.15)
    open_frame(axes)


def _plot_radar(rows: list[Row], title: str, path: Path) -> None:
    """Draws the mean channels of the shock, one line per stressor; those that cannot affect behaviour are left out."""
    # Room for the labels around the circle, which would touch the edge.
    figure = make_figure(6.8, 4.8, w_pad=0.3, h_pad=0.15)
    axes: Any = figure.add_subplot(projection="polar")
    angles = np.linspace(0.0, 2.0 * math.pi, len(CHANNELS) + 1)
    columns = stressor_columns(rows)
    acting = [row for row in rows if not is_silent(row)][:_MOST_STRESSORS]
    for number, row in enumerate(acting):
        values = [row[f"{name}_shock"] for name in CHANNELS]
        style = {"color": COLOURS[number % len(COLOURS)], "linestyle": ("-", "--", ":", "-.")[number % 4]}
        label = stressor_name(tuple(row[column] for column in columns))
        axes.plot(angles, [*values, values[0]], marker="os^"[number % 3], markersize=4, label=label, **style)
    frame_radar(axes)
    figure.legend(frameon=False, fontsize=8, loc="outside right center")
    figure.suptitle(f"{title}: channels in the shock", fontsize=10)
    save_figure(figure, path)


def stressor_columns(rows: list[Row]) -> list[str]:
    """Returns the columns that distinguish stressors."""
    several = any(len({row["strength"] for row in part}) > 1 for part in group_rows(rows, ["perturbation"]).values())
    names = [name for name in rows[0] if name.startswith("perturbation")]
    return [*names, "strength"] if several else names


def stressor_name(values: tuple) -> str:
    """Returns the name of a stressor, from its values in those columns."""
    perturbation, *settings = values
    texts = [f"{value:g}" if isinstance(value, float) else str(value) for value in settings]
    return " ".join([str(perturbation).replace("_", " "), *texts])
