"""One number against another: return and collapse, modes, seeds."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import numpy as np

from brittlestar.randomness import generator
from brittlestar.results.format import bounded
from brittlestar.results.load import Row
from brittlestar.statistics.correlations import cluster_pearson, pearson
from brittlestar.studies.stress.figures.canvas import blank, correlation_text, legend, look, plain, title
from brittlestar.studies.stress.figures.rows import MODES, Study, UnsuitedError, grouped, need, number
from brittlestar.studies.stress.ranking import pareto_front

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_NAMES = 10
MOST_SEEDS = 8


def reward_collapse(study: Study) -> Figure:
    """Draws normalised return against collapse rate, one mark per agent and mode, with the Pareto front."""
    need(study.leaderboard, "leaderboard", "normalised_return", "rate_shock")
    rows = [row for row in study.leaderboard if not math.isnan(_return(row) + number(row, "rate_shock"))]
    if len(rows) < 2:
        raise UnsuitedError("fewer than two agents have a known normalised return")
    places = grouped(rows, "place")
    figure = blank(8.6, 5.6)
    axes = plain(figure.add_subplot())
    for index, (place, members) in enumerate(sorted(places.items())):
        style = look(index)
        axes.plot([], [], linestyle="", markersize=7, label=place, **style)
        for row in members:
            face = style["color"] if row["mode"] == MODES[True] else "none"
            x, y = _return(row), number(row, "rate_shock")
            axes.plot(x, y, linestyle="", markersize=7, markerfacecolor=face, **style)
    front = _front(axes, rows)
    axes.set(xlabel="normalised return without stress (0 random, 1 reference)", ylabel="collapse rate in the shock")
    axes.set_ylim(-0.04, 1.04)
    legend(axes, heading="environment")
    policies = list(grouped(rows, "agent").values())
    means = np.array([[np.mean([_return(row) for row in part]), _rate(part)] for part in policies])
    left_out = len(study.leaderboard) - len(rows)
    return title(
        figure,
        f"Return and collapse over policies: {correlation_text(pearson(means[:, 0], means[:, 1]))}",
        f"Dashed: Pareto front, that is {_listed(front)}.",
        "Filled: deterministic; hollow: stochastic. r is over policies, modes averaged, Fisher's 95 % interval.",
        f"Left out: {left_out} agents without a known return." if left_out else "",
    )


def mode_agreement(study: Study) -> Figure:
    """Draws the collapse rate of sampled actions against that of the likeliest ones, per agent and stressor."""
    need(study.stress, "stress", "rate_shock")
    pairs: dict[str, dict[str, tuple[float, float]]] = {}
    for (stressor, agent), rows in grouped(study.acted(study.stress), "stressor", "agent").items():
        modes = grouped(rows, "mode")
        if len(modes) == 2:
            both = [float(np.mean([number(row, "rate_shock") for row in modes[MODES[mode]]])) for mode in (True, False)]
            pairs.setdefault(stressor, {})[agent] = (both[0], both[1])
    if not pairs:
        raise UnsuitedError("no agent was evaluated in both modes (`deterministic=true,false`)")
    figure = blank(8.8, 5.4)
    axes = plain(figure.add_subplot())
    axes.plot([0, 1], [0, 1], color="grey", linewidth=0.8, linestyle="--")
    for index, (stressor, found) in enumerate(sorted(pairs.items())):
        x, y = np.array(list(found.values())).T
        label = f"{stressor}\n{correlation_text(pearson(x, y))}"
        axes.plot(x, y, linestyle="", markersize=6, alpha=0.8, label=label, **look(index))
    axes.set(xlabel="CR in the shock, deterministic", ylabel="CR in the shock, stochastic")
    axes.set(xlim=(-0.04, 1.04), ylim=(-0.04, 1.04), aspect="equal")
    legend(axes, heading="stressor")
    agents = sorted({agent for found in pairs.values() for agent in found})
    clusters = [np.array([found[agent] for found in pairs.values() if agent in found]) for agent in agents]
    whole = cluster_pearson(clusters, generator(0, "stress/figures"))
    r = bounded(whole.r, whole.low, whole.high, ".2f")
    return title(
        figure,
        f"Stochastic and deterministic: r = {r}, n = {whole.n} pairs of {len(agents)} policies",
        "Interval of all pairs: 95 %, bootstrap over policies. Per stressor: Fisher's interval and p over policies.",
    )


def seed_consistency(study: Study) -> Figure:
    """Draws the collapse rate of each seed against the mean of the others, and r between every two seeds."""
    seeds, table, _ = seed_table(study)
    figure = blank(10.5, 5.2)
    left, right = figure.subplots(1, 2)
    plain(left).plot([0, 1], [0, 1], color="grey", linewidth=0.8, linestyle="--")
    for index, seed in enumerate(seeds):
        others = np.delete(table, index, axis=1).mean(axis=1)
        left.plot(others, table[:, index], linestyle="", markersize=5, alpha=0.7, label=f"seed {seed}", **look(index))
    left.set(xlabel="CR in the shock, mean of the other seeds", ylabel="CR in the shock, this seed", aspect="equal")
    left.set(xlim=(-0.04, 1.04), ylim=(-0.04, 1.04))
    left.legend(frameon=False, fontsize=8, loc="upper left")
    _matrix(right, seeds, table)
    within = float(np.sqrt(table.var(axis=1, ddof=1).mean()))
    return title(
        figure,
        f"Seeds against each other: n = {len(table)} agents × modes × stressors, {len(seeds)} seeds",
        f"Standard deviation between seeds of one agent and stressor: {within:.3f} (root mean square). "
        "r with Fisher's 95 % interval; the pairs of one agent are not independent, so intervals are narrow.",
    )


def seed_table(study: Study) -> tuple[list[int], np.ndarray, list[str]]:
    """Returns the seeds, collapse rates `(agents × modes × stressors, seeds)` that all seeds have, and their agents."""
    need(study.runs, "runs", "rate_shock", "seed")
    rows = study.acted(study.runs)
    seeds = sorted({row["seed"] for row in rows})[:MOST_SEEDS]
    if len(seeds) < 2:
        raise UnsuitedError("there is one seed only")
    units = grouped(rows, "agent", "mode", "stressor")
    rates = [{row["seed"]: number(row, "rate_shock") for row in part} for part in units.values()]
    table = np.array([[unit.get(seed, math.nan) for seed in seeds] for unit in rates])
    whole = ~np.isnan(table).any(axis=1)
    table, agents = table[whole], [agent for (agent, *_), kept in zip(units, whole, strict=True) if kept]
    if len(table) < 2:
        raise UnsuitedError("fewer than two agents or stressors have all seeds")
    return seeds, table, agents


def _matrix(axes: Axes, seeds: list[int], table: np.ndarray) -> None:
    values = np.full((len(seeds), len(seeds)), math.nan)
    texts = []
    for i, j in itertools.permutations(range(len(seeds)), 2):
        found = pearson(table[:, i], table[:, j])
        values[i, j] = found.r
        low = "" if math.isnan(found.low) else f"\n[{found.low:.2f},\n{found.high:.2f}]"
        texts.append((i, j, "–" if math.isnan(found.r) else f"{found.r:.2f}{low}"))
    axes.imshow(np.ma.masked_invalid(values), cmap="Blues", vmin=0.0, vmax=1.5)
    for i, j, text in texts:
        axes.text(j, i, text, ha="center", va="center", fontsize=9 if len(seeds) <= 5 else 6)
    names = [f"seed {seed}" if len(seeds) <= 5 else str(seed) for seed in seeds]
    axes.set_xticks(range(len(seeds)), names, fontsize=8)
    axes.set_yticks(range(len(seeds)), names, fontsize=8)
    axes.tick_params(length=0)
    axes.set_title("Pearson's r between seeds", fontsize=9)


def _front(axes: Axes, rows: list[Row]) -> list[str]:
    """Draws the front as steps, and returns who is on it, from low to high return."""
    x, y = (np.array([number(row, name) for row in rows]) for name in ("normalised_return", "rate_shock"))
    best = np.flatnonzero(pareto_front(x, -y))
    best = best[np.lexsort((y[best], x[best]))]
    axes.step(x[best], y[best], where="pre", color="black", linestyle="--", linewidth=1, zorder=0)
    return list(dict.fromkeys(f"{rows[i]['agent']} ({rows[i]['mode']})" for i in best))


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return ", ".join(names[:MOST_NAMES]) + more


def _return(row: Row) -> float:
    return number(row, "normalised_return")


def _rate(rows: list[Row]) -> float:
    return float(np.mean([number(row, "rate_shock") for row in rows]))
