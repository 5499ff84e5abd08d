"""Boxes: scores of episodes per environment, rates per seed, loss of return per stressor."""

import math

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from brittlestar.reports.drawing import COLOURS
from brittlestar.results.format import bounded
from brittlestar.results.load import Row
from brittlestar.results.ranges import cut, range_of
from brittlestar.statistics.hypothesis_tests import holm
from brittlestar.statistics.intervals import t_interval
from brittlestar.statistics.rank_tests import friedman, wilcoxon
from brittlestar.studies.stress.figures import canvas
from brittlestar.studies.stress.figures.relations import seed_table
from brittlestar.studies.stress.figures.rows import FigureTables, UnsuitedError, by_policy, grouped, number_in
from brittlestar.studies.stress.scoring import BASELINE

_MOST_PANELS = 12
_BOX = "Box: quartiles and median; whiskers: 5 % and 95 %."


def scores_by_schedule(tables: FigureTables) -> Figure:
    """Draws the scores of the episodes in the shock per environment and stressor, and the median threshold."""
    tables.need("episodes", "score", "phase")
    shocked = [row for row in tables.episodes if str(row["phase"]).startswith("shock") and row["score"] is not None]
    if not shocked:
        raise UnsuitedError("no episode was stressed")
    places = sorted(grouped(map(tables.names.named, shocked), "place").items())[:_MOST_PANELS]
    across = min(4 if len(places) > 6 else 3, len(places))
    down = math.ceil(len(places) / across)
    figure = canvas.blank(max(6.5, 1.6 + 2.4 * across), 1.3 + (0.55 + 0.2 * len(tables.stressors)) * down)
    panels = list(figure.subplots(down, across, squeeze=False, sharey=True).flat)
    for axes, (place, rows) in zip(panels, places, strict=False):
        _score_panel(canvas.plain(axes), tables, place, rows)
    for axes in panels[len(places) :]:
        axes.remove()
    figure.supylabel("")
    return canvas.title(
        figure,
        "Score of collapse in the shock, per environment and stressor",
        f"{_BOX} Dashed: median threshold. n: episodes per box.",
        canvas.SILENT_NOTE if tables.silent else "",
    )


def seed_boxes(tables: FigureTables) -> Figure:
    """Draws the collapse rates of each seed as a box, over agents, modes and stressors."""
    seeds, table, agents = seed_table(tables)
    means = np.array([table[np.array(agents) == name].mean(axis=0) for name in dict.fromkeys(agents)])
    figure, axes = canvas.one_panel(max(7.0, 2.0 + 1.4 * len(seeds)), 4.6)
    for x, column in enumerate(table.T):
        axes.plot(x + canvas.spread(len(column), 0.5), np.sort(column), ".", color=COLOURS[0], markersize=3, alpha=0.6)
    _boxes(axes, list(table.T), list(range(len(seeds))), width=0.6)
    ticks = [f"seed {seed}\nmean {_mean(column)}" for seed, column in zip(seeds, means.T, strict=True)]
    axes.set_xticks(range(len(seeds)), ticks, fontsize=8)
    axes.set(ylabel="collapse rate in the shock", xlim=(-0.6, len(seeds) - 0.4), ylim=(-0.04, 1.04))
    chi, p = friedman(means)
    test = "Wilcoxon's signed ranks" if math.isnan(chi) else f"Friedman's chi² = {chi:.2f}"
    return canvas.title(
        figure,
        f"Collapse per seed: {test}, {canvas.p_text(p)}, {canvas.policies(len(means))}",
        f"{_BOX} A mark is one agent, mode and stressor ({len(table)} of them).",
        f"Test and means are over policies, their stressors and modes averaged; 95 %, Student's t. {tables.seeds_note}",
    )


def return_loss(tables: FigureTables) -> Figure:
    """Draws the share of the true return that each policy loses in the shock, per stressor."""
    tables.need("runs", "return_degradation")
    losses = {name: by_policy(rows, "return_degradation") for name, rows in grouped(tables.runs, "stressor").items()}
    names = [name for name in tables.stressors if losses.get(name)]
    if not names:
        raise UnsuitedError("no loss of return is known")
    figure, axes = canvas.one_panel(max(7.0, 1.2 + 1.0 * len(names)), 5.0)
    values = [np.sort(list(losses[name].values())) for name in names]
    everything = np.concatenate(values)
    low, high = _window(everything)
    for x, name in enumerate(names):
        _marks_within(axes, x, values[x], low, high)
        if name in tables.silent:
            canvas.hatch(axes, x - 0.45, x + 0.45)
    _boxes(axes, values, list(range(len(names))), 0.6)
    axes.axhline(0.0, color="grey", linewidth=0.8, zorder=0)
    tests = _loss_tests(tables, losses, names)
    ticks = [f"{canvas.wrapped(name)}\n{tests[name]}\nn = {len(losses[name])}" for name in names]
    axes.set_xticks(range(len(names)), ticks, fontsize=8)
    margin = 0.04 * (high - low)
    axes.set(ylabel="share of return lost", xlim=(-0.6, len(names) - 0.4), ylim=(low - margin, high + margin))
    beyond = int(((everything < low) | (everything > high)).sum())
    return canvas.title(
        figure,
        "Loss of true return in the shock: (PRE − SHOCK) / |PRE|",
        f"A mark is a policy (seeds and modes averaged), n counts them. {_BOX} p: Wilcoxon's signed ranks against "
        "baseline, Holm's over stressors.",
        canvas.SILENT_NOTE.replace(", so no collapse", "; what is left is chance") if tables.silent else "",
        f"Triangles: {beyond} values beyond the axis." if beyond else "",
    )


def _loss_tests(tables: FigureTables, losses: dict[str, dict[str, float]], names: list[str]) -> dict[str, str]:
    """Returns the p value of each stressor that acts against the baseline, as text."""
    calm = losses.get(BASELINE, {})
    gaps = {name: np.array([loss - calm[key] for key, loss in losses[name].items() if key in calm]) for name in names}
    tested = [name for name in names if name in tables.acting and len(gaps[name])]
    adjusted = holm([wilcoxon(gaps[name]) for name in tested]).tolist()
    texts = {name: "no action\nchanged" if name in tables.silent else "–" for name in names}
    return texts | {name: canvas.p_text(p) for name, p in zip(tested, adjusted, strict=True)}


def _marks_within(axes: Axes, x: int, values: np.ndarray, low: float, high: float) -> None:
    """Draws values as marks next to each other; those beyond the axis are triangles at its end."""
    places, inside = x + canvas.spread(len(values), 0.4), (values >= low) & (values <= high)
    axes.plot(places[inside], values[inside], "o", color=COLOURS[0], markersize=4, alpha=0.7)
    # An empty line that is not clipped takes room.
    if not inside.all():
        ends = values[~inside].clip(low, high)
        axes.plot(places[~inside], ends, "^", color=COLOURS[1], markersize=5, clip_on=False)


def _score_panel(axes: Axes, tables: FigureTables, place: str, rows: list[Row]) -> None:
    scores = {name: np.array([row["score"] for row in part]) for name, part in grouped(rows, "stressor").items()}
    order = [name for name in tables.stressors if name in scores]
    places, silent = [tables.stressors.index(name) for name in order], [name in tables.silent for name in order]
    _boxes(axes, [scores[name] for name in order], places, 0.62, silent)
    limit = np.nanmedian([number_in(row, "threshold") for row in rows])
    axes.axvline(float(limit), color=COLOURS[1], linestyle="--", linewidth=1)
    axes.set_title(f"{place} (n = {canvas.span(map(len, scores.values()))})", fontsize=9)
    axes.set_xlim(-0.03, 1.03)
    canvas.agent_axis(axes, tables.stressors)
    axes.set_xticks([0.0, 0.5, 1.0], ["0", "0.5", "1"])


def _boxes(
    axes: Axes, values: list[np.ndarray], places: list[int], width: float, silent: list[bool] | None = None
) -> None:
    """Draws upright boxes, or with `silent` lying ones, hatched where it is true."""
    boxes = axes.boxplot(
        values, positions=places, widths=width, whis=(5, 95), showfliers=False, patch_artist=True, manage_ticks=False,
        orientation="vertical" if silent is None else "horizontal", medianprops={"color": "black", "linewidth": 1.6},
    )  # fmt: skip
    for box, hatched in zip(boxes["boxes"], silent or [False] * len(values), strict=True):
        box.set(facecolor=(0, 0, 0, 0.04) if hatched else (*to_rgb(COLOURS[5]), 0.45), hatch="/////" * hatched or None)
        box.set_edgecolor("grey" if hatched else "black")


def _window(values: np.ndarray) -> tuple[float, float]:
    """Returns the part of the axis that holds most values: a share of a return near 0 can be huge.

    Example:
        >>> _window(np.array([0.0, 0.1, 0.2, 0.3, 0.4, 50.0]))
        (0.0, 0.78)
    """
    first, third = np.quantile(values, [0.25, 0.75])
    gap = max(1.6 * (third - first), 0.1)
    low, high = float(max(values.min(), first - gap)), float(min(values.max(), third + gap))
    return (round(low, 2), round(high, 2)) if high - low > 0.05 else (low - 0.05, high + 0.05)


def _mean(rates: np.ndarray) -> str:
    interval = cut(range_of("rate_shock"), rates.mean(), *t_interval(rates))
    return bounded(rates.mean(), float(interval.low), float(interval.high), ".2f")
