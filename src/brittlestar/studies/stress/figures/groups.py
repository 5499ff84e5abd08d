"""Groups of policies against each other: action spaces, algorithms, kinds of learning, suites."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from brittlestar.reports.drawing import COLOURS
from brittlestar.results.load import Row
from brittlestar.statistics.hypothesis_tests import holm
from brittlestar.statistics.rank_tests import kruskal_wallis, mann_whitney
from brittlestar.studies.stress.figures.canvas import (
    HATCHES,
    INTERVALS,
    SILENT_NOTE,
    blank,
    legend,
    look,
    p_text,
    plain,
    policies,
    reach,
    silence,
    spread,
    title,
    wrapped,
)
from brittlestar.studies.stress.figures.rows import Study, UnsuitedError, by_policy, grouped, mean_over_policies, need
from brittlestar.studies.stress.figures.suites import SUITES, suite

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ALL = "mean of stressors"
_RATE = "collapse rate in the shock"


def action_spaces(study: Study) -> Figure:
    """Draws collapse rates of discrete and continuous actions per stressor, with Mann-Whitney's test."""
    return _two_groups(study, "discrete", {True: "discrete actions", False: "continuous actions"})


def learning_kinds(study: Study) -> Figure:
    """Draws collapse rates of policies learnt on- and off-policy per stressor, with Mann-Whitney's test."""
    return _two_groups(study, "on_policy", {True: "on-policy", False: "off-policy"})


def algorithms(study: Study) -> Figure:
    """Draws the collapse rate of each policy over the stressors that act, by algorithm, with Kruskal-Wallis' test."""
    need(study.stress, "stress", "rate_shock", "algorithm")
    rows = [row for row in study.acted(study.stress) if row.get("algorithm")]
    groups = dict(sorted(grouped(rows, "algorithm").items()))
    if len(groups) < 2:
        raise UnsuitedError("fewer than two algorithms are known")
    figure = blank(max(7.0, 2.8 + 0.8 * len(groups)), 5.0)
    axes = plain(figure.add_subplot())
    places = {place: look(index) for index, place in enumerate(sorted({row["place"] for row in rows}))}
    for place, style in places.items():
        axes.plot([], [], linestyle="", markersize=5, label=place, **style)
    values = []
    for x, members in enumerate(groups.values()):
        rates = by_policy(members, "rate_shock")
        homes = {row["agent"]: row["place"] for row in members}
        for shift, (agent, rate) in zip(spread(len(rates), 0.4), sorted(rates.items()), strict=True):
            axes.plot(x + shift, rate, linestyle="", markersize=5, **places[homes[agent]])
        _mean_bar(axes, x, members)
        values.append(list(rates.values()))
    axes.set_xticks(range(len(groups)), [f"{name}\nn = {len(n)}" for name, n in zip(groups, values, strict=True)])
    axes.set(ylabel=f"{_RATE}, mean of stressors", ylim=(-0.04, 1.04), xlim=(-0.6, len(groups) - 0.4))
    legend(axes, heading="environment")
    h, p = kruskal_wallis(values)
    return title(
        figure,
        f"Collapse by algorithm: Kruskal–Wallis H = {h:.2f}, {p_text(p)}, n = {sum(map(len, values))} policies",
        f"A mark is a policy; bars: mean. {INTERVALS} Algorithms were not run in the same environments.",
    )


def suites(study: Study) -> Figure:
    """Draws the mean collapse rate per suite of environments and stressor."""
    need(study.stress, "stress", "rate_shock")
    found: dict[str, list[Row]] = {}
    for row in study.stress:
        found.setdefault(suite(row["place"]), []).append(row)
    names = [name for name in SUITES if name in found]
    figure = blank(max(7.0, 1.2 + 1.15 * len(study.stressors)), 4.8)
    axes = plain(figure.add_subplot())
    width = 0.84 / len(names)
    for index, name in enumerate(names):
        stressors = grouped(found[name], "stressor")
        label = f"{name} ({policies(len(grouped(found[name], 'agent')))})"
        for x, stressor in enumerate(study.stressors):
            mean = mean_over_policies(stressors.get(stressor, []), "rate_shock")
            if stressor not in study.silent and mean is not None:
                place = x + width * (index - (len(names) - 1) / 2)
                axes.bar(
                    place, mean.value, width, color=COLOURS[index % len(COLOURS)], hatch=HATCHES[index % len(HATCHES)],
                    edgecolor="white", label=label,
                )  # fmt: skip
                axes.errorbar(place, mean.value, reach(mean.value, mean.low, mean.high), color="black", capsize=2, lw=1)
    _stressor_axis(axes, study, [wrapped(name) for name in study.stressors])
    axes.set_ylabel(f"mean {_RATE}")
    legend(axes, columns=3)
    return title(figure, "Suites of environments: mean collapse rate in the shock", SILENT_NOTE, INTERVALS)


def _two_groups(study: Study, trait: str, names: dict[bool, str]) -> Figure:
    need(study.stress, "stress", "rate_shock", trait)
    groups = [[row for row in study.stress if row.get(trait) is kind] for kind in names]
    if not all(groups):
        raise UnsuitedError(f"all policies whose `{trait}` is known are of one kind")
    shown = [name for name in study.stressors if name not in study.silent]
    columns = [*shown, _ALL, *(name for name in study.stressors if name in study.silent)]
    parts = {
        name: [
            study.acted(rows) if name == _ALL else [row for row in rows if row["stressor"] == name] for rows in groups
        ]
        for name in columns
    }
    tests = {
        name: mann_whitney(*(list(by_policy(rows, "rate_shock").values()) for rows in parts[name])) for name in columns
    }
    adjusted = dict(zip(study.acting, holm([tests[name][1] for name in study.acting]).tolist(), strict=True))
    figure = blank(max(7.5, 1.2 + 1.12 * len(columns)), 5.2)
    axes = plain(figure.add_subplot())
    for x, name in enumerate(columns):
        for side, rows in enumerate(parts[name] if name not in study.silent else []):
            _cloud(axes, x + 0.4 * side - 0.2, rows, side)
    ticks = [_tick(name, parts[name], tests[name][0], adjusted.get(name, tests[name][1]), study) for name in columns]
    _stressor_axis(axes, study, ticks, columns)
    axes.set_ylabel(_RATE)
    sizes = [len(grouped(rows, "agent")) for rows in groups]
    for side, (name, n) in enumerate(zip(names.values(), sizes, strict=True)):
        axes.plot([], [], linestyle="", label=f"{name} ({policies(n)})", **_kind(side))
    legend(axes, columns=2)
    return title(
        figure,
        f"Collapse: {' and '.join(names.values())}",
        f"A mark is a policy (seeds and modes averaged); bars: mean. {INTERVALS}",
        "U: Mann–Whitney, two-sided; p is Holm's over the stressors; those of baseline and mean are plain. "
        "The groups were not run in the same environments.",
    )


def _tick(name: str, parts: list[list[Row]], u: float, p: float, study: Study) -> str:
    if name in study.silent:
        return wrapped(name)
    n = ", ".join(str(len(by_policy(rows, "rate_shock"))) for rows in parts)
    return f"{wrapped(name)}\nU = {u:g}\n{p_text(p)}\nn = {n}" if not math.isnan(u) else f"{wrapped(name)}\nn = {n}"


def _stressor_axis(axes: Axes, study: Study, ticks: list[str], columns: list[str] | None = None) -> None:
    columns = columns or study.stressors
    axes.set_xticks(range(len(columns)), ticks, fontsize=8)
    axes.set(xlim=(-0.55, len(columns) - 0.45), ylim=(-0.04, 1.04))
    for x, name in enumerate(columns):
        if name in study.silent:
            silence(axes, x - 0.45, x + 0.45)


def _kind(side: int) -> dict:
    return {
        "color": COLOURS[side],
        "marker": "os"[side],
        "markerfacecolor": (COLOURS[0], "none")[side],
        "markersize": 5,
    }


def _cloud(axes: Axes, x: float, rows: list[Row], side: int) -> None:
    rates = sorted(by_policy(rows, "rate_shock").values())
    axes.plot(x + spread(len(rates), 0.22), rates, linestyle="", alpha=0.8, **_kind(side))
    _mean_bar(axes, x, rows)


def _mean_bar(axes: Axes, x: float, rows: list[Row]) -> None:
    mean = mean_over_policies(rows, "rate_shock")
    if mean is not None:
        axes.plot([x - 0.16, x + 0.16], [mean.value] * 2, color="black", linewidth=2, zorder=4)
        axes.errorbar(x, mean.value, reach(mean.value, mean.low, mean.high), color="black", capsize=3, lw=1, zorder=4)
