"""One line per agent: false alarms, and the leaderboard."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from brittlestar.reports.drawing import COLOURS
from brittlestar.results.format import bounded
from brittlestar.results.load import Row
from brittlestar.studies.stress.figures.canvas import blank, legend, plain, reach, title
from brittlestar.studies.stress.figures.rows import MODES, Study, UnsuitedError, grouped, need, number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_AGENTS = 60


def false_alarms(study: Study) -> Figure:
    """Draws the share of events without stress of each agent and mode, and the accepted one."""
    need(study.stress, "stress", "false_alarms")
    rows = [part[0] for _, part in sorted(grouped(study.stress, "agent", "mode").items())]
    rows = [row for row in rows if not math.isnan(number(row, "false_alarms"))]
    if not rows:
        raise UnsuitedError("no agent was run without stress (`baseline`)")
    names = sorted({row["agent"] for row in rows})[:MOST_AGENTS]
    figure = blank(8.0, 1.9 + 0.24 * len(names))
    axes = plain(figure.add_subplot())
    axes.axvline(study.alpha, color="black", linestyle="--", linewidth=1, label=f"accepted: alpha = {study.alpha:g}")
    both = len({row["mode"] for row in rows}) > 1
    for row in rows:
        if row["agent"] in names:
            sampled = row["mode"] != MODES[True]
            y = names.index(row["agent"]) + (0.17 if sampled else -0.17) * both
            _alarm(axes, row, y, sampled)
    _agent_axis(axes, names)
    axes.set_xlabel("false-alarm rate (share of events without stress), 95 % interval")
    axes.set_xlim(left=-0.004)
    legend(axes, columns=3)
    above = sum(number(row, "false_alarms_low") > study.alpha for row in rows)
    mean = sum(number(row, "false_alarms") for row in rows) / len(rows)
    return title(
        figure,
        f"False alarms: mean {mean:.3f}, {above} of {len(rows)} intervals above alpha, uncorrected",
        _episodes(study),
        "Intervals over seeds (Student's t), at least Wilson's over episodes.",
    )


def leaderboard(study: Study) -> Figure:
    """Draws the robust score of each agent with its interval, and its rank with that of the rank."""
    need(study.leaderboard, "leaderboard", "robust_score")
    rows = [row for row in study.leaderboard if not math.isnan(number(row, "robust_score"))]
    rank = "rank" if "rank" in rows[0] else "rank_robust"
    within = _ranked_within(rows, rank)
    rows = sorted(
        rows,
        key=lambda row: (
            *((row["place"], row["mode"]) if within else ("", "")),
            _last(row, rank),
            -number(row, "robust_score"),
        ),
    )
    shown = rows[:MOST_AGENTS]
    figure = blank(8.4, 1.9 + 0.22 * len(shown))
    axes = plain(figure.add_subplot())
    for y, row in enumerate(shown):
        value, low, high = (number(row, f"robust_score{end}") for end in ("", "_low", "_high"))
        sampled = row["mode"] != MODES[True]
        face: dict[str, Any] = {"facecolor": COLOURS[5], "hatch": "////"} if sampled else {"facecolor": COLOURS[0]}
        axes.barh(y, value, 0.72, edgecolor="white", label=row["mode"], **face)
        axes.errorbar(value, y, xerr=reach(value, low, high), color="black", capsize=2, lw=1)
        axes.text(1.01, y, _rank(row, rank), transform=axes.get_yaxis_transform(), va="center", fontsize=7)
    for y in range(1, len(shown)):
        if within and shown[y]["place"] != shown[y - 1]["place"]:
            axes.axhline(y - 0.5, color="grey", linewidth=0.6)
    _agent_axis(axes, [f"{row['agent']}{' *' if row.get('pareto') else ''}" for row in shown])
    axes.set_xlabel("robust score, 95 % interval")
    axes.set_xlim(min(0.0, *(number(row, "robust_score") for row in shown)), 1.0)
    legend(axes, columns=2)
    left_out = len(rows) - len(shown)
    return title(
        figure,
        f"Leaderboard{within}",
        f"n = {len(rows)} agents. Right: rank with its 95 % interval. *: on the Pareto front of return and stability.",
        f"Left out: the last {left_out}." if left_out else "",
    )


def _alarm(axes: Axes, row: Row, y: float, sampled: bool) -> None:
    value, low, high = (number(row, f"false_alarms{end}") for end in ("", "_low", "_high"))
    colour = COLOURS[1] if sampled else COLOURS[0]
    axes.errorbar(value, y, xerr=reach(value, low, high), color=colour, capsize=2, lw=1, linestyle="")
    face = "white" if sampled else colour
    axes.plot(
        value, y, linestyle="", marker="s" if sampled else "o", color=colour, markerfacecolor=face, markersize=5,
        label=row["mode"],
    )  # fmt: skip


def _agent_axis(axes: Axes, names: list[str]) -> None:
    axes.set_yticks(range(len(names)), names, fontsize=8)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)


def _ranked_within(rows: list[Row], rank: str) -> str:
    """Says whether ranks begin anew in each environment, or in each environment and mode."""
    worst = max((number(row, rank) for row in rows if row.get(rank) is not None), default=0)
    for columns, told in ((("place", "mode"), "environment and mode"), (("place",), "environment")):
        groups = grouped(rows, *columns).values()
        if len(groups) > 1 and worst <= max(map(len, groups)):
            return f", ranked within each {told}"
    return ""


def _last(row: Row, rank: str) -> float:
    value = number(row, rank)
    return math.inf if math.isnan(value) else value


def _rank(row: Row, rank: str) -> str:
    return bounded(number(row, rank), number(row, f"{rank}_low"), number(row, f"{rank}_high"), "g")


def _episodes(study: Study) -> str:
    counts = sorted({int(row["n_episodes"]) for row in study.stress if row.get("n_episodes")})
    return f"n = {'–'.join(map(str, dict.fromkeys((counts[0], counts[-1]))))} episodes per agent." if counts else ""
