"""Groups of policies against each other: action spaces, algorithms, kinds of learning, suites."""

import math
import re
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from brittlestar.reports.drawing import COLOURS
from brittlestar.results.load import Row
from brittlestar.statistics.hypothesis_tests import holm
from brittlestar.statistics.rank_tests import kruskal_wallis, mann_whitney
from brittlestar.studies.stress.figures import canvas
from brittlestar.studies.stress.figures.rows import FigureTables, Mean, UnsuitedError, by_policy, grouped
from brittlestar.studies.stress.runs import SILENT

_ALL = "mean of stressors"
_RATE = "collapse rate in the shock"
_HATCHES = ("", "...", "xxx", "\\\\\\", "ooo", "---")
"""Bars have a colour and a hatch, so that they differ in grey, too."""
_SUITE_NAMES = {
    "classic control": "acrobot cartpole mountaincar mountaincarcontinuous pendulum",
    "toy text": "blackjack cliffwalking frozenlake frozenlake8x8 taxi",
    "MuJoCo": "ant halfcheetah hopper humanoid humanoidstandup inverteddoublependulum invertedpendulum pusher reacher "
    "swimmer walker2d",
    "Fetch robotics": "fetchpickandplace fetchpush fetchreach fetchslide",
    "Atari": "asteroids beamrider breakout enduro mspacman pong qbert roadrunner seaquest spaceinvaders",
}
_SUITE_OF = {name: suite for suite, names in _SUITE_NAMES.items() for name in names.split()}


def action_spaces(tables: FigureTables) -> Figure:
    """Draws collapse rates of discrete and continuous actions per stressor, with Mann-Whitney's test."""
    return _two_groups(tables, "discrete", {True: "discrete actions", False: "continuous actions"})


def learning_kinds(tables: FigureTables) -> Figure:
    """Draws collapse rates of policies learnt on- and off-policy per stressor, with Mann-Whitney's test."""
    return _two_groups(tables, "on_policy", {True: "on-policy", False: "off-policy"})


def algorithms(tables: FigureTables) -> Figure:
    """Draws the collapse rate of each policy over the stressors that act, by algorithm, with Kruskal-Wallis' test."""
    tables.need("stress", "rate_shock", "algorithm")
    rows = [row for row in tables.acted(tables.stress) if row.get("algorithm")]
    groups = dict(sorted(grouped(rows, "algorithm").items()))
    if len(groups) < 2:
        raise UnsuitedError("fewer than two algorithms are known")
    figure, axes = canvas.one_panel(max(7.0, 2.8 + 0.8 * len(groups)), 5.0)
    styles = {place: canvas.marks(index) for index, place in enumerate(sorted({row["place"] for row in rows}))}
    for place, style in styles.items():
        axes.plot([], [], markersize=5, label=place, **style)
    values = []
    for x, members in enumerate(groups.values()):
        rates = by_policy(members, "rate_shock")
        homes = {row["agent"]: row["place"] for row in members}
        for shift, (agent, rate) in zip(canvas.spread(len(rates), 0.4), sorted(rates.items()), strict=True):
            axes.plot(x + shift, rate, markersize=5, **styles[homes[agent]])
        _mean_bar(axes, x, members)
        values.append(list(rates.values()))
    axes.set_xticks(range(len(groups)), [f"{name}\nn = {len(n)}" for name, n in zip(groups, values, strict=True)])
    axes.set(ylabel=f"{_RATE}, mean of stressors", ylim=(-0.04, 1.04), xlim=(-0.6, len(groups) - 0.4))
    canvas.legend(axes, heading="environment")
    h, p = kruskal_wallis(values)
    text = f"Kruskal–Wallis H = {h:.2f}, {canvas.p_text(p)}, n = {sum(map(len, values))} policies"
    note = f"A mark is a policy; bars: mean. {canvas.INTERVALS} Algorithms were not run in the same environments."
    return canvas.title(figure, f"Collapse by algorithm: {text}", note, canvas.training_note(rows))


def suites(tables: FigureTables) -> Figure:
    """Draws the mean collapse rate per suite of environments and stressor."""
    tables.need("stress", "rate_shock")
    members: dict[str, list[Row]] = {}
    for row in tables.stress:
        members.setdefault(suite(row["place"]), []).append(row)
    names = [name for name in (*_SUITE_NAMES, "other") if name in members]
    figure, axes = canvas.one_panel(max(7.0, 1.2 + 1.15 * len(tables.stressors)), 4.8)
    width = 0.84 / len(names)
    for index, name in enumerate(names):
        stressors = grouped(members[name], "stressor")
        style: dict[str, Any] = {"color": COLOURS[index % len(COLOURS)], "hatch": _HATCHES[index % len(_HATCHES)]}
        style["label"] = f"{name} ({canvas.policies(len(grouped(members[name], 'agent')))})"
        for x, stressor in enumerate(tables.stressors):
            mean = Mean.over_policies(stressors.get(stressor, []), "rate_shock")
            if stressor not in tables.silent and mean is not None:
                place = x + width * (index - (len(names) - 1) / 2)
                axes.bar(place, mean.value, width, edgecolor="white", **style)
                canvas.draw_interval(axes, place, mean)
    _stressor_axis(axes, tables, tables.stressors, [canvas.wrapped(name) for name in tables.stressors])
    axes.set_ylabel(f"mean {_RATE}")
    canvas.legend(axes, columns=3)
    text = "Suites of environments: mean collapse rate in the shock"
    return canvas.title(figure, text, canvas.SILENT_NOTE, canvas.INTERVALS)


def _two_groups(tables: FigureTables, trait: str, names: dict[bool, str]) -> Figure:
    tables.need("stress", "rate_shock", trait)
    groups = [[row for row in tables.stress if row.get(trait) is kind] for kind in names]
    if not all(groups):
        raise UnsuitedError(f"all policies whose `{trait}` is known are of one kind")
    silent = [name for name in tables.stressors if name in tables.silent]
    columns = [*(name for name in tables.stressors if name not in silent), _ALL, *silent]
    parts = {
        name: [tables.acted(rows) if name == _ALL else grouped(rows, "stressor").get(name, []) for rows in groups]
        for name in columns
    }
    rates = {name: [list(by_policy(rows, "rate_shock").values()) for rows in both] for name, both in parts.items()}
    tests = {name: mann_whitney(*both) for name, both in rates.items()}
    adjusted = dict(zip(tables.acting, holm([tests[name][1] for name in tables.acting]).tolist(), strict=True))
    figure, axes = canvas.one_panel(max(7.5, 1.2 + 1.12 * len(columns)), 5.2)
    ticks = []
    for x, name in enumerate(columns):
        u, p = tests[name][0], adjusted.get(name, tests[name][1])
        test = [] if math.isnan(u) else [f"U = {u:g}", canvas.p_text(p)]
        lines = [] if name in silent else [*test, f"n = {', '.join(str(len(values)) for values in rates[name])}"]
        ticks.append("\n".join([canvas.wrapped(name), *lines]))
        for side, rows in enumerate([] if name in silent else parts[name]):
            place, values = x + 0.4 * side - 0.2, sorted(rates[name][side])
            axes.plot(place + canvas.spread(len(values), 0.22), values, alpha=0.8, **_kind(side))
            _mean_bar(axes, place, rows)
    _stressor_axis(axes, tables, columns, ticks)
    axes.set_ylabel(_RATE)
    for side, (name, rows) in enumerate(zip(names.values(), groups, strict=True)):
        axes.plot([], [], label=f"{name} ({canvas.policies(len(grouped(rows, 'agent')))})", **_kind(side))
    canvas.legend(axes, columns=2)
    return canvas.title(
        figure,
        f"Collapse: {' and '.join(names.values())}",
        f"A mark is a policy (seeds and modes averaged); bars: mean. {canvas.INTERVALS}",
        "U: Mann–Whitney, two-sided; p is Holm's over the stressors; those of baseline and mean are plain. "
        f"The groups were not run in the same environments. {canvas.training_note(tables.stress)}",
    )


def _stressor_axis(axes: Axes, tables: FigureTables, columns: list[str], ticks: list[str]) -> None:
    axes.set_xticks(range(len(columns)), ticks, fontsize=8)
    axes.set(xlim=(-0.55, len(columns) - 0.45), ylim=(-0.04, 1.04))
    for x, name in enumerate(columns):
        if name in tables.silent:
            canvas.hatch(axes, x - 0.45, x + 0.45, SILENT)


def _kind(side: int) -> dict[str, Any]:
    face = (COLOURS[0], "none")[side]
    return {"color": COLOURS[side], "marker": "os"[side], "markerfacecolor": face, "markersize": 5, "linestyle": ""}


def _mean_bar(axes: Axes, x: float, rows: list[Row]) -> None:
    mean = Mean.over_policies(rows, "rate_shock")
    if mean is not None:
        axes.plot([x - 0.16, x + 0.16], [mean.value] * 2, color="black", linewidth=2, zorder=4)
        canvas.draw_interval(axes, x, mean, capsize=3, zorder=4)


def suite(env: str) -> str:
    """Returns the suite of an environment, by its name here or its id.

    Example:
        >>> suite("half cheetah"), suite("FetchReach-v4"), suite("PongNoFrameskip-v4"), suite("my_env")
        ('MuJoCo', 'Fetch robotics', 'Atari', 'other')
    """
    # Dense rewards, frames that are not skipped and versions are the same environment.
    name = re.sub(r"^ale/|dense|noframeskip|-v\d+$|[^a-z0-9]", "", env.lower())
    return _SUITE_OF.get(name, "other")
