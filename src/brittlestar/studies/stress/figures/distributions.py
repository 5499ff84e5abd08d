"""Boxes: scores of episodes per environment, rates per seed, loss of return per stressor."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from brittlestar.reports.drawing import COLOURS
from brittlestar.results.format import bounded
from brittlestar.statistics import intervals
from brittlestar.statistics.hypothesis_tests import holm
from brittlestar.statistics.rank_tests import friedman, wilcoxon
from brittlestar.studies.stress.figures.canvas import (
    GREY,
    SILENT_NOTE,
    blank,
    p_text,
    plain,
    policies,
    spread,
    title,
    wrapped,
)
from brittlestar.studies.stress.figures.relations import seed_table
from brittlestar.studies.stress.figures.rows import BASELINE, Study, UnsuitedError, by_policy, grouped, need, number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_PANELS = 12
_BOX = "Box: quartiles and median; whiskers: 5 % and 95 %."


def scores_by_schedule(study: Study) -> Figure:
    """Draws the scores of the episodes in the shock per environment and stressor, and the median threshold."""
    need(study.episodes, "episodes", "score", "phase")
    scores: dict[str, dict[str, list[float]]] = {}
    limits: dict[str, list[float]] = {}
    for row in study.episodes:
        if str(row["phase"]).startswith("shock") and row["score"] is not None:
            place = study.names.place(row)
            scores.setdefault(place, {}).setdefault(study.names.stressor(row), []).append(row["score"])
            limits.setdefault(place, []).append(number(row, "threshold"))
    if not scores:
        raise UnsuitedError("no episode was stressed")
    places = sorted(scores)[:MOST_PANELS]
    across = min(4 if len(places) > 6 else 3, len(places))
    down = math.ceil(len(places) / across)
    figure = blank(max(6.5, 1.6 + 2.4 * across), 1.3 + (0.55 + 0.2 * len(study.stressors)) * down)
    panels = list(figure.subplots(down, across, squeeze=False, sharey=True).flat)
    for axes, place in zip(panels, places, strict=False):
        _score_panel(plain(axes), study, scores[place])
        axes.axvline(float(np.nanmedian(limits[place])), color=COLOURS[1], linestyle="--", linewidth=1)
        axes.set_title(f"{place} (n = {_span([len(part) for part in scores[place].values()])})", fontsize=9)
    for axes in panels[len(places) :]:
        axes.remove()
    figure.supylabel("")
    return title(
        figure,
        "Score of collapse in the shock, per environment and stressor",
        f"{_BOX} Dashed: median threshold. n: episodes per box.",
        SILENT_NOTE if study.silent else "",
    )


def seed_boxes(study: Study) -> Figure:
    """Draws the collapse rates of each seed as a box, over agents, modes and stressors."""
    seeds, table, agents = seed_table(study)
    means = np.array([table[[agent == one for agent in agents]].mean(axis=0) for one in dict.fromkeys(agents)])
    figure = blank(max(7.0, 2.0 + 1.4 * len(seeds)), 4.6)
    axes = plain(figure.add_subplot())
    for x, column in enumerate(table.T):
        axes.plot(x + spread(len(column), 0.5), np.sort(column), ".", color=COLOURS[0], markersize=3, alpha=0.6)
    _boxes(axes, list(table.T), list(range(len(seeds))), width=0.6)
    ticks = [f"seed {seed}\nmean {_mean(column)}" for seed, column in zip(seeds, means.T, strict=True)]
    axes.set_xticks(range(len(seeds)), ticks, fontsize=8)
    axes.set(ylabel="collapse rate in the shock", xlim=(-0.6, len(seeds) - 0.4), ylim=(-0.04, 1.04))
    chi, p = friedman(means)
    test = "Wilcoxon's signed ranks" if math.isnan(chi) else f"Friedman's chi² = {chi:.2f}"
    return title(
        figure,
        f"Collapse per seed: {test}, {p_text(p)}, {policies(len(means))}",
        f"{_BOX} A mark is one agent, mode and stressor ({len(table)} of them).",
        "Test and means are over policies, their stressors and modes averaged; 95 %, Student's t.",
    )


def return_loss(study: Study) -> Figure:
    """Draws the share of the true return that each policy loses in the shock, per stressor."""
    need(study.runs, "runs", "return_degradation")
    losses = {name: by_policy(rows, "return_degradation") for name, rows in grouped(study.runs, "stressor").items()}
    names = [name for name in study.stressors if losses.get(name)]
    if not names:
        raise UnsuitedError("no loss of return is known")
    calm = losses.get(BASELINE, {})
    gaps = {name: np.array([losses[name][one] - calm[one] for one in losses[name] if one in calm]) for name in names}
    tested = [name for name in names if name in study.acting and len(gaps[name])]
    adjusted = dict(zip(tested, holm([wilcoxon(gaps[name]) for name in tested]).tolist(), strict=True))
    figure = blank(max(7.0, 1.2 + 1.0 * len(names)), 5.0)
    axes = plain(figure.add_subplot())
    everything = np.concatenate([list(losses[name].values()) for name in names])
    low, high = _window(everything)
    for x, name in enumerate(names):
        values = np.sort(list(losses[name].values()))
        places = x + spread(len(values), 0.4)
        inside = (values >= low) & (values <= high)
        axes.plot(places[inside], values[inside], "o", color=COLOURS[0], markersize=4, alpha=0.7)
        # An empty line that is not clipped takes room.
        if not inside.all():
            axes.plot(
                places[~inside], values[~inside].clip(low, high), "^", color=COLOURS[1], markersize=5, clip_on=False
            )
        if name in study.silent:
            axes.axvspan(x - 0.45, x + 0.45, facecolor="white", edgecolor=GREY, hatch="///", linewidth=0, zorder=0)
    _boxes(axes, [np.array(list(losses[name].values())) for name in names], list(range(len(names))), 0.6)
    axes.axhline(0.0, color="grey", linewidth=0.8, zorder=0)
    ticks = [f"{wrapped(name)}\n{_p(name, adjusted, study)}\nn = {len(losses[name])}" for name in names]
    axes.set_xticks(range(len(names)), ticks, fontsize=8)
    axes.set(ylabel="share of return lost", xlim=(-0.6, len(names) - 0.4))
    margin = 0.04 * (high - low)
    axes.set_ylim(low - margin, high + margin)
    beyond = int(((everything < low) | (everything > high)).sum())
    return title(
        figure,
        "Loss of true return in the shock: (PRE − SHOCK) / |PRE|",
        f"A mark is a policy (seeds and modes averaged), n counts them. {_BOX} p: Wilcoxon's signed ranks against "
        "baseline, Holm's over stressors.",
        SILENT_NOTE.replace(", so no collapse", "; what is left is chance") if study.silent else "",
        f"Triangles: {beyond} values beyond the axis." if beyond else "",
    )


def _score_panel(axes: Axes, study: Study, scores: dict[str, list[float]]) -> None:
    order = [name for name in study.stressors if name in scores]
    places = [study.stressors.index(name) for name in order]
    hatches = ["/////" if name in study.silent else "" for name in order]
    _boxes(axes, [np.array(scores[name]) for name in order], places, 0.62, hatches, vertical=False)
    axes.set_yticks(range(len(study.stressors)), study.stressors, fontsize=8)
    axes.set(xlim=(-0.03, 1.03), ylim=(len(study.stressors) - 0.4, -0.6))
    axes.set_xticks([0.0, 0.5, 1.0], ["0", "0.5", "1"])
    axes.tick_params(axis="y", length=0)


def _boxes(
    axes: Axes, values: list[np.ndarray], places: list[int], width: float, hatches: list[str] | None = None,
    vertical: bool = True,
) -> None:  # fmt: skip
    found = axes.boxplot(
        values,
        positions=places,
        widths=width,
        whis=(5, 95),
        showfliers=False,
        patch_artist=True,
        manage_ticks=False,
        orientation="vertical" if vertical else "horizontal",
        medianprops={"color": "black", "linewidth": 1.6},
    )
    for box, hatch in zip(found["boxes"], hatches or [""] * len(values), strict=True):
        box.set(facecolor=(0, 0, 0, 0.04) if hatch else (*_rgb(COLOURS[5]), 0.45), hatch=hatch or None)
        box.set_edgecolor("grey" if hatch else "black")


def _rgb(colour: str) -> tuple[float, float, float]:
    from matplotlib.colors import to_rgb

    return to_rgb(colour)


def _window(values: np.ndarray) -> tuple[float, float]:
    """Returns the part of the axis that holds most values: a return near 0 makes a share of it as large as it likes.

    Example:
        >>> _window(np.array([0.0, 0.1, 0.2, 0.3, 0.4, 50.0]))
        (0.0, 0.78)
    """
    first, third = np.quantile(values, [0.25, 0.75])
    gap = max(1.6 * (third - first), 0.1)
    low, high = float(max(values.min(), first - gap)), float(min(values.max(), third + gap))
    return (round(low, 2), round(high, 2)) if high - low > 0.05 else (low - 0.05, high + 0.05)


def _mean(values: np.ndarray) -> str:
    interval = intervals.t_interval(values)
    return bounded(values.mean(), interval.low, interval.high, ".2f")


def _p(name: str, adjusted: dict[str, float], study: Study) -> str:
    return p_text(adjusted[name]) if name in adjusted else "no action\nchanged" if name in study.silent else "–"


def _span(counts: list[int]) -> str:
    return "–".join(map(str, dict.fromkeys((min(counts), max(counts)))))
