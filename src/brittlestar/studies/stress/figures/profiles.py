"""Algorithms against stressors: the worst stressor in each environment, and a profile of each algorithm."""

import math
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from brittlestar.results.format import brackets
from brittlestar.results.load import Row
from brittlestar.studies.stress.figures import canvas
from brittlestar.studies.stress.figures.rows import FigureTables, Mean, UnsuitedError, by_policy, grouped

_MOST_PLACES, _MOST_KINDS = 14, 20
_BARS = "Error bars: 95 %, Student's t over policies, at least the mean of their own."
_EXCESS = "collapse rate in the shock minus that of the same episodes without stress"


def worst_stressor(tables: FigureTables) -> Figure:
    """Draws for each algorithm and environment the stressor under which most episodes collapse."""
    rows = _rated(tables)
    cells = grouped(rows, "kind", "place")
    kinds, places = (sorted(set(names)) for names in zip(*cells, strict=True))
    drawn = kinds[:_MOST_KINDS], places[:_MOST_PLACES]
    left_out = len(kinds) + len(places) - sum(map(len, drawn))
    kinds, places = drawn
    worst = {key: _worst(part) for key, part in cells.items()}
    wide = 1.7 + 0.075 * max(map(len, kinds)) + 1.15 * len(places)
    figure = canvas.blank(max(6.5, wide), 2.2 + 0.72 * len(kinds))
    axes = figure.add_subplot()
    found = [[worst[kind, place][1] if (kind, place) in worst else None for place in places] for kind in kinds]
    canvas.colour_cells(axes, found, "Oranges")
    for (kind, place), (text, mean) in worst.items():
        if kind in kinds and place in places:
            colour = "white" if mean.value > canvas.DARK else "black"
            style: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 7, "color": colour, "linespacing": 1.1}
            axes.text(places.index(place), kinds.index(kind), text, **style)
    canvas.map_axes(axes, [canvas.wrapped(place) for place in places], kinds)
    return canvas.title(
        figure,
        "Worst stressor per algorithm and environment",
        f"Number and colour: excess, that is, the {_EXCESS}. {canvas.HOLM} `or 2 more`: so many others lie within it. "
        "`not shown`: it holds 0. The largest of several numbers is too large on average.",
        f"{canvas.training_note(rows)} {tables.seeds_note} Blank: not run.",
        f"Left out: {left_out} rows or columns." if left_out else "",
    )


def stressor_profiles(tables: FigureTables) -> Figure:
    """Draws a panel per algorithm: how much more often its policies collapse under each stressor."""
    rows = _rated(tables)
    kinds = dict(sorted(grouped(rows, "kind").items())[:_MOST_KINDS])
    across = min(4, len(kinds))
    down = math.ceil(len(kinds) / across)
    figure = canvas.blank(max(7.0, 2.6 + 2.1 * across), 2.4 + (0.7 + 0.24 * len(tables.acting)) * down)
    panels = list(figure.subplots(down, across, squeeze=False, sharex=True, sharey=True).flat)
    styles = {place: canvas.marks(index) for index, place in enumerate(sorted({row["place"] for row in rows}))}
    for axes, (kind, members) in zip(panels, kinds.items(), strict=False):
        _profile(canvas.plain(axes), tables.acting, members, styles)
        axes.set_title(f"{kind}\n{canvas.policies(len(grouped(members, 'agent')))}", fontsize=9)
    for number, axes in enumerate(panels[: len(kinds)]):
        if number + across >= len(kinds):
            axes.set_xlabel("excess", fontsize=8)
            axes.tick_params(labelbottom=True)
    for axes in panels[len(kinds) :]:
        axes.remove()
    for place, style in styles.items():
        panels[across - 1].plot([], [], markersize=5, label=place, **style)
    canvas.legend(panels[across - 1], heading="environment")
    left_out = f"Left out, since they changed no action: {', '.join(sorted(tables.silent))}." if tables.silent else ""
    return canvas.title(
        figure,
        "Stressor profiles per algorithm",
        f"Excess: {_EXCESS}. A mark is a policy (seeds and modes averaged); bar: their mean. {_BARS} {canvas.HOLM}",
        f"Algorithms were not run in the same environments. {canvas.training_note(rows)} {tables.seeds_note}",
        left_out,
    )


def _rated(tables: FigureTables) -> list[Row]:
    """Returns the rows under stressors that act; `kind` is the algorithm, or the policy where none is known."""
    tables.need("stress", "excess")
    rows = [row for row in tables.acted(tables.stress) if by_policy([row], "excess")]
    if not rows:
        raise UnsuitedError("no stressor that changes actions was run beside a baseline")
    return [row | {"kind": row.get("algorithm") or str(row.get("policy")).rpartition("/")[2]} for row in rows]


def _worst(rows: list[Row]) -> tuple[str, Mean]:
    """Returns the worst stressor of some policies as text, and its mean."""
    means = {name: Mean.of_policies(part, "excess") for name, part in grouped(rows, "stressor").items()}
    known = {name: mean for name, mean in means.items() if mean is not None}
    name = max(known, key=lambda name: known[name].value)
    mean = known[name]
    rivals = sum(other.value >= mean.low for other in known.values()) - 1
    more = f"\nor {rivals} more" if rivals else ""
    return f"{canvas.wrapped(name)}\n{_number(mean)}" + (more if mean.low > 0 else "\nnot shown"), mean


def _number(mean: Mean) -> str:
    count = f" (n = {mean.n})" if mean.n > 1 else ""
    interval = "" if math.isnan(mean.low) else f"\n{brackets(mean.low, mean.high, canvas.two_digits)}"
    return canvas.two_digits(mean.value) + count + interval


def _profile(axes: Axes, stressors: list[str], rows: list[Row], styles: dict[str, dict]) -> None:
    homes = {row["agent"]: row["place"] for row in rows}
    for y, part in ((stressors.index(name), part) for name, part in grouped(rows, "stressor").items()):
        values = sorted(by_policy(part, "excess").items(), key=lambda item: item[1])
        for shift, (agent, value) in zip(canvas.spread(len(values), 0.4), values, strict=True):
            axes.plot(value, y + shift, markersize=4.5, alpha=0.85, **styles[homes[agent]])
        mean = Mean.over_policies(part, "excess")
        if mean is not None:
            canvas.draw_interval(axes, y, mean, across=True, zorder=1)
        # The mark of a single policy is its mean.
        if mean is not None and mean.n > 1:
            axes.plot([mean.value] * 2, [y - 0.28, y + 0.28], color="black", linewidth=2, zorder=1)
    axes.axvline(0.0, color="grey", linewidth=0.8, zorder=0)
    canvas.agent_axis(axes, stressors)
    axes.set_xticks(np.linspace(0.0, 1.0, 3), ["0", "0.5", "1"])
    axes.set_xlim(min(-0.06, axes.get_xlim()[0]), 1.06)
