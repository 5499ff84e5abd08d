"""Pictures of a stress study, from its tables alone: scores over episodes, and the channels under stress."""

from __future__ import annotations

import itertools
import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from brittlestar.reports.curves import COLOURS, MARKERS, save
from brittlestar.results.load import Row
from brittlestar.studies.stress.compat_channels import CHANNELS
from brittlestar.studies.stress.tables import StressTables

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_STRESSORS = 16
_SHADE = "#D9D9D9"
_OWN = ("perturbation", "strength")


def plot_stress(tables: StressTables, folder: Path) -> list[str]:
    """Draws a timeline and a radar per agent as PNG and PDF, and returns their names."""
    for old in (*folder.glob("stress_timeline*.p[nd][gf]"), *folder.glob("stress_radar*.p[nd][gf]")):
        old.unlink()
    keys = [name for name in tables.stress[0] if name == "n_seeds" or not name.startswith(_OWN)]
    keys = keys[: keys.index("n_seeds")]
    agents = _grouped(tables.stress, keys)
    episodes = _grouped(tables.episodes, keys)
    names = []
    for agent, rows in agents.items():
        title = ", ".join(str(value) for value in agent[:2])
        slug = "" if len(agents) == 1 else "_" + re.sub(r"[^A-Za-z0-9]+", "_", "_".join(map(str, agent)))
        plot_timeline(episodes[agent], title, folder / f"stress_timeline{slug}")
        plot_radar(rows, title, folder / f"stress_radar{slug}")
        names += [f"stress_timeline{slug}", f"stress_radar{slug}"]
    return names


def plot_timeline(rows: list[Row], title: str, path: Path) -> None:
    """Draws the score over episodes, one panel per stressor: every seed thin, their mean thick, the shock shaded."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    panels = list(_grouped(rows, _stressor_columns(rows)).items())[:MOST_STRESSORS]
    across = min(4, len(panels))
    down = math.ceil(len(panels) / across)
    figure = Figure(figsize=(3.4 * across, 2.5 * down + 0.5), layout="constrained")
    FigureCanvasAgg(figure)
    grid = figure.subplots(down, across, squeeze=False, sharex=True, sharey=True)
    for axes, (name, episodes) in zip(grid.flat, panels, strict=False):
        _timeline(axes, episodes)
        axes.set_title(_name(name), fontsize=9)
    for axes in list(grid.flat)[len(panels) :]:
        axes.set_visible(False)
    for axes in grid[-1]:
        axes.set_xlabel("episode")
    for row in grid:
        row[0].set_ylabel("score")
    lines, names = grid[0][0].get_legend_handles_labels()
    figure.legend(lines, names, frameon=False, fontsize=8, ncols=2, loc="outside lower center")
    figure.suptitle(title, fontsize=10)
    save(figure, path)


def plot_radar(rows: list[Row], title: str, path: Path) -> None:
    """Draws the mean channels of the shock, one line per stressor; those that cannot affect behaviour are left out."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.8, 4.8), layout="constrained")
    FigureCanvasAgg(figure)
    # Room for the labels around the circle, which would touch the edge.
    figure.get_layout_engine().set(w_pad=0.3, h_pad=0.15)  # type: ignore[union-attr, call-arg]
    axes: Any = figure.add_subplot(projection="polar")
    angles = np.linspace(0.0, 2.0 * math.pi, len(CHANNELS), endpoint=False)
    shown = [row for row in rows if not row["verdict"].startswith("cannot")][:MOST_STRESSORS]
    columns = _stressor_columns(rows)
    styles = itertools.cycle(("-", "--", ":", "-."))
    for number, (row, style) in enumerate(zip(shown, styles, strict=False)):
        values = [row[f"{name}_shock"] for name in CHANNELS]
        axes.plot(
            [*angles, angles[0]],
            [*values, values[0]],
            color=COLOURS[number % len(COLOURS)],
            linestyle=style,
            marker=MARKERS[number % len(MARKERS)],
            markersize=4,
            label=_name(tuple(row[column] for column in columns)),
        )
    frame_radar(axes)
    figure.legend(frameon=False, fontsize=8, loc="outside right center")
    figure.suptitle(f"{title}: channels in the shock", fontsize=10)
    save(figure, path)


def frame_radar(axes: Any) -> None:
    """Names the channels around the circle and its rings, and lays no name on a line."""
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


def _timeline(axes: Axes, rows: list[Row]) -> None:
    seeds = _grouped(rows, ["seed"])
    longest = max(map(len, seeds.values()))
    scores = np.full((len(seeds), longest), np.nan)
    for i, episodes in enumerate(seeds.values()):
        scores[i, : len(episodes)] = [row["score"] for row in episodes]
        axes.plot(scores[i], color=COLOURS[0], alpha=0.25, linewidth=0.6)
    axes.plot(np.nanmean(scores, axis=0), color=COLOURS[0], linewidth=1.4, label="score, mean over seeds")
    threshold = np.mean([row["threshold"] for row in rows])
    if np.isfinite(threshold):
        axes.axhline(threshold, color=COLOURS[1], linestyle="--", linewidth=1, label="threshold")
    first = next(iter(seeds.values()))
    for phase, run in itertools.groupby(first, key=lambda row: row["phase"]):
        places = [row["episode"] for row in run]
        if str(phase).startswith("shock"):
            axes.axvspan(places[0] - 0.5, places[-1] + 0.5, color=_SHADE, linewidth=0, zorder=0)
        axes.text(np.mean(places), 1.02, phase, ha="center", va="bottom", fontsize=7)
    axes.set_ylim(-0.02, 1.15)
    axes.spines[["top", "right"]].set_visible(False)


def _stressor_columns(rows: list[Row]) -> list[str]:
    strengths = _grouped(rows, ["perturbation"])
    several = any(len({row["strength"] for row in members}) > 1 for members in strengths.values())
    own = [name for name in rows[0] if name.startswith("perturbation")]
    return [*own, "strength"] if several else own


def _name(values: tuple) -> str:
    first, *rest = values
    return " ".join(
        [str(first).replace("_", " "), *(f"{value:g}" if isinstance(value, float) else str(value) for value in rest)]
    )


def _grouped(rows: list[Row], columns: list[str]) -> dict[tuple, list[Row]]:
    found: dict[tuple, list[Row]] = {}
    for row in rows:
        found.setdefault(tuple(row[column] for column in columns), []).append(row)
    return found
