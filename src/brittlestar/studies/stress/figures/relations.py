"""One number against another: return and collapse, modes, seeds."""

import itertools
import math

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from brittlestar.randomness import generator
from brittlestar.results.format import bounded
from brittlestar.results.load import Row
from brittlestar.statistics.correlations import cluster_pearson, pearson
from brittlestar.studies.stress.agents import MODES
from brittlestar.studies.stress.figures.canvas import (
    blank,
    correlation_text,
    legend,
    marks,
    one_panel,
    plain,
    title,
)
from brittlestar.studies.stress.figures.rows import FigureTables, UnsuitedError, grouped, number_in
from brittlestar.studies.stress.ranking import pareto_front

_MOST_NAMES, _MOST_SEEDS = 10, 8


def reward_collapse(tables: FigureTables) -> Figure:
    """Draws normalised return against collapse rate, one mark per agent and mode, with the Pareto front."""
    tables.need("leaderboard", "normalised_return", "rate_shock")
    rows = [row for row in tables.leaderboard if not np.isnan(_point(row)).any()]
    if len(rows) < 2:
        raise UnsuitedError("fewer than two agents have a known normalised return")
    figure, axes = one_panel(8.6, 5.6)
    for index, (place, members) in enumerate(sorted(grouped(rows, "place").items())):
        style = marks(index) | {"markersize": 7}
        axes.plot([], [], label=place, **style)
        for row in members:
            axes.plot(*_point(row), **style | {"markerfacecolor": "none" if row["sampled"] else style["color"]})
    front = _front(axes, rows)
    axes.set(xlabel="normalised return without stress (0 random, 1 reference)", ylabel="collapse rate in the shock")
    axes.set_ylim(-0.04, 1.04)
    legend(axes, heading="environment")
    means = np.array([np.mean([_point(row) for row in part], axis=0) for part in grouped(rows, "agent").values()])
    unnamed = f" and {len(front) - _MOST_NAMES} more" if len(front) > _MOST_NAMES else ""
    left_out = len(tables.leaderboard) - len(rows)
    return title(
        figure,
        f"Return and collapse over policies: {correlation_text(pearson(means[:, 0], means[:, 1]))}",
        f"Dashed: Pareto front, that is {', '.join(front[:_MOST_NAMES])}{unnamed}.",
        "Filled: deterministic; hollow: stochastic. r is over policies, modes averaged, Fisher's 95 % interval.",
        f"Left out: {left_out} agents without a known return." if left_out else "",
    )


def mode_agreement(tables: FigureTables) -> Figure:
    """Draws the collapse rate of sampled actions against that of the likeliest ones, per agent and stressor."""
    tables.need("stress", "rate_shock")
    pairs: dict[str, dict[str, list[float]]] = {}
    for (stressor, agent), rows in grouped(tables.acted(tables.stress), "stressor", "agent").items():
        modes = grouped(rows, "mode")
        if len(modes) == 2:
            both = [np.mean([number_in(row, "rate_shock") for row in modes[mode]]) for mode in MODES.values()]
            pairs.setdefault(stressor, {})[agent] = [float(rate) for rate in both]
    if not pairs:
        raise UnsuitedError("no agent was evaluated in both modes (`deterministic=true,false`)")
    figure, axes = one_panel(8.8, 5.4)
    for index, (stressor, rates) in enumerate(sorted(pairs.items())):
        x, y = np.array(list(rates.values())).T
        label = f"{stressor}\n{correlation_text(pearson(x, y))}"
        axes.plot(x, y, markersize=6, alpha=0.8, label=label, **marks(index))
    _square(axes, "CR in the shock, deterministic", "CR in the shock, stochastic")
    legend(axes, heading="stressor")
    agents = sorted({agent for rates in pairs.values() for agent in rates})
    clusters = [np.array([rates[agent] for rates in pairs.values() if agent in rates]) for agent in agents]
    whole = cluster_pearson(clusters, generator(0, "stress/figures"))
    r = bounded(whole.r, whole.low, whole.high, ".2f")
    return title(
        figure,
        f"Stochastic and deterministic: r = {r}, n = {whole.n} pairs of {len(agents)} policies",
        "Interval of all pairs: 95 %, bootstrap over policies. Per stressor: Fisher's interval and p over policies.",
    )


def seed_consistency(tables: FigureTables) -> Figure:
    """Draws the collapse rate of each seed against the mean of the others, and r between every two seeds."""
    seeds, table, _ = seed_table(tables)
    figure = blank(10.5, 5.2)
    left, right = figure.subplots(1, 2)
    for index, seed in enumerate(seeds):
        means = np.delete(table, index, axis=1).mean(axis=1)
        plain(left).plot(means, table[:, index], markersize=5, alpha=0.7, label=f"seed {seed}", **marks(index))
    _square(left, "CR in the shock, mean of the other seeds", "CR in the shock, this seed")
    left.legend(frameon=False, fontsize=8, loc="upper left")
    _matrix(right, seeds, table)
    within = float(np.sqrt(table.var(axis=1, ddof=1).mean()))
    return title(
        figure,
        f"Seeds against each other: n = {len(table)} agents × modes × stressors, {len(seeds)} seeds",
        f"Standard deviation between seeds of one agent and stressor: {within:.3f} (root mean square). "
        "r with Fisher's 95 % interval; the pairs of one agent are not independent, so intervals are narrow.",
        tables.seeds_note,
    )


def seed_table(tables: FigureTables) -> tuple[list[int], np.ndarray, list[str]]:
    """Returns the seeds, collapse rates `(agents × modes × stressors, seeds)` that all seeds have, and their agents."""
    tables.need("runs", "rate_shock", "seed")
    rows = tables.acted(tables.runs)
    seeds = sorted({row["seed"] for row in rows})[:_MOST_SEEDS]
    if len(seeds) < 2:
        raise UnsuitedError("there is one seed only")
    units = grouped(rows, "agent", "mode", "stressor")
    rates = [{row["seed"]: number_in(row, "rate_shock") for row in part} for part in units.values()]
    table = np.array([[unit.get(seed, math.nan) for seed in seeds] for unit in rates])
    whole = ~np.isnan(table).any(axis=1)
    if whole.sum() < 2:
        raise UnsuitedError("fewer than two agents or stressors have all seeds")
    return seeds, table[whole], [agent for (agent, *_), complete in zip(units, whole, strict=True) if complete]


def _square(axes: Axes, xlabel: str, ylabel: str) -> None:
    """Sets both axes to rates, with a diagonal."""
    axes.plot([0, 1], [0, 1], color="grey", linewidth=0.8, linestyle="--", zorder=1)
    axes.set(xlabel=xlabel, ylabel=ylabel, xlim=(-0.04, 1.04), ylim=(-0.04, 1.04), aspect="equal")


def _matrix(axes: Axes, seeds: list[int], table: np.ndarray) -> None:
    values, size = np.full((len(seeds), len(seeds)), math.nan), 9 if len(seeds) <= 5 else 6
    for i, j in itertools.permutations(range(len(seeds)), 2):
        pair = pearson(table[:, i], table[:, j])
        values[i, j] = pair.r
        text = bounded(pair.r, pair.low, pair.high, ".2f", missing="–")
        axes.text(j, i, text.replace(" ", "\n"), ha="center", va="center", fontsize=size)
    axes.imshow(np.ma.masked_invalid(values), cmap="Blues", vmin=0.0, vmax=1.5)
    names = [f"seed {seed}" if len(seeds) <= 5 else str(seed) for seed in seeds]
    axes.set_xticks(range(len(seeds)), names, fontsize=8)
    axes.set_yticks(range(len(seeds)), names, fontsize=8)
    axes.tick_params(length=0)
    axes.set_title("Pearson's r between seeds", fontsize=9)


def _front(axes: Axes, rows: list[Row]) -> list[str]:
    """Draws the front as steps, and returns the agents on it, from low to high return."""
    x, y = np.array([_point(row) for row in rows]).T
    best = np.flatnonzero(pareto_front(x, -y))
    best = best[np.lexsort((y[best], x[best]))]
    axes.step(x[best], y[best], where="pre", color="black", linestyle="--", linewidth=1, zorder=0)
    return list(dict.fromkeys(f"{rows[i]['agent']} ({rows[i]['mode']})" for i in best))


def _point(row: Row) -> tuple[float, float]:
    return number_in(row, "normalised_return"), number_in(row, "rate_shock")
