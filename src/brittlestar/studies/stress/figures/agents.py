"""One line per agent: false alarms, and the leaderboard."""

import math
from typing import Any

from matplotlib.figure import Figure

from brittlestar.reports.drawing import COLOURS
from brittlestar.results.format import bounded_column
from brittlestar.studies.stress.figures.canvas import agent_axis, draw_interval, legend, one_panel, span, title
from brittlestar.studies.stress.figures.rows import FigureTables, Mean, UnsuitedError, grouped, number_in

_MOST_AGENTS = 60


def false_alarms(tables: FigureTables) -> Figure:
    """Draws the share of events without stress of each agent and mode, and the accepted one."""
    tables.need("stress", "false_alarms")
    rows = [part[0] for _, part in sorted(grouped(tables.stress, "agent", "mode").items())]
    rows = [row for row in rows if not math.isnan(number_in(row, "false_alarms"))]
    if not rows:
        raise UnsuitedError("no agent was run without stress (`baseline`)")
    names = sorted({row["agent"] for row in rows})[:_MOST_AGENTS]
    figure, axes = one_panel(8.0, 1.9 + 0.24 * len(names))
    axes.axvline(tables.alpha, color="black", linestyle="--", linewidth=1, label=f"accepted: alpha = {tables.alpha:g}")
    both = len({row["mode"] for row in rows}) > 1
    for row in (row for row in rows if row["agent"] in names):
        sampled, rate = row["sampled"], Mean.of(row, "false_alarms")
        y, colour = names.index(row["agent"]) + (0.17 if sampled else -0.17) * both, COLOURS[sampled]
        draw_interval(axes, y, rate, across=True, color=colour)
        style: dict[str, Any] = {"marker": "os"[sampled], "markerfacecolor": "white" if sampled else colour}
        axes.plot(rate.value, y, linestyle="", color=colour, markersize=5, label=row["mode"], **style)
    agent_axis(axes, names)
    axes.set_xlabel("false-alarm rate (share of events without stress), 95 % interval")
    axes.set_xlim(left=-0.004)
    legend(axes, columns=3)
    above = sum(number_in(row, "false_alarms_low") > tables.alpha for row in rows)
    mean = sum(number_in(row, "false_alarms") for row in rows) / len(rows)
    episodes = span(int(row["n_episodes"]) for row in tables.stress if row.get("n_episodes"))
    return title(
        figure,
        f"False alarms: mean {mean:.3f}, {above} of {len(rows)} intervals above alpha, uncorrected",
        f"n = {episodes} episodes per agent." if episodes else "",
        "Intervals over seeds (Student's t), at least Wilson's over episodes.",
    )


def leaderboard(tables: FigureTables) -> Figure:
    """Draws the robust score of each agent with its interval, and its rank with that of the rank."""
    tables.need("leaderboard", "robust_score")
    rows = [row for row in tables.leaderboard if not math.isnan(number_in(row, "robust_score"))]
    several = len(grouped(rows, "place", "mode")) > 1
    rows = sorted(
        rows, key=lambda row: (row["place"], row["mode"], row["rank_robust"], -number_in(row, "robust_score"))
    )
    drawn = rows[:_MOST_AGENTS]
    figure, axes = one_panel(8.4, 1.9 + 0.22 * len(drawn))
    for y, row in enumerate(drawn):
        score = Mean.of(row, "robust_score")
        colour, hatch = (COLOURS[5], "////") if row["sampled"] else (COLOURS[0], None)
        axes.barh(y, score.value, 0.72, edgecolor="white", label=row["mode"], facecolor=colour, hatch=hatch)
        draw_interval(axes, y, score, across=True)
        text = bounded_column(row, "rank_robust", "g").replace(" [", "  [")
        axes.text(1.01, y, text, transform=axes.get_yaxis_transform(), va="center", fontsize=7)
        if several and y and row["place"] != drawn[y - 1]["place"]:
            axes.axhline(y - 0.5, color="grey", linewidth=0.6)
    agent_axis(axes, [f"{row['agent']}{' *' if row.get('pareto') else ''}" for row in drawn])
    axes.set_xlabel("robust score, 95 % interval")
    axes.set_xlim(min(0.0, *(number_in(row, "robust_score") for row in drawn)), 1.0)
    legend(axes, columns=2)
    left_out = len(rows) - len(drawn)
    return title(
        figure,
        "Leaderboard, ranked within each environment and mode" if several else "Leaderboard",
        f"n = {len(rows)} agents. Right: rank with its 95 % interval. *: on the Pareto front of return and stability.",
        f"Left out: the last {left_out}." if left_out else "",
    )
