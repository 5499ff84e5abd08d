"""Stressors side by side: heat maps with printed numbers, and a radar of the channels for each."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from brittlestar.errors import counted
from brittlestar.reports.drawing import COLOURS
from brittlestar.results.format import brackets
from brittlestar.results.load import Row
from brittlestar.statistics.arrays import without_nan
from brittlestar.statistics.variance_split import split_variance
from brittlestar.studies.stress.compat_channels import CHANNELS
from brittlestar.studies.stress.figures import canvas
from brittlestar.studies.stress.figures.rows import FigureTables, Mean, UnsuitedError, grouped, number_in
from brittlestar.studies.stress.plots import GREY, frame_radar
from brittlestar.studies.stress.runs import OWN_RETURN, SILENT
from brittlestar.studies.stress.scoring import BASELINE
from brittlestar.studies.stress.tables import MOST_RATE_SD

_MOST_AGENTS = 40
"""More agents than this are drawn by environment."""
_MOST_ROWS, _MOST_PANELS = 60, 16
_BOUNDS = "Intervals: 95 %, over seeds and episodes, of these very policies: the mean of their bounds."
_ONE_POLICY = "So this is how well the rate of one policy is known, not how much trainings differ."
_TRAININGS = (
    "Training: the variation between trainings, that is, the variance over seeds minus that of chance, at least 0, "
    "with its 95 % interval (Williams and Tukey)."
)
_LINES = "Line: mean in the shock, with its interval as a band. Dotted: the same episodes without stress."


def collapse_map(tables: FigureTables) -> Figure:
    """Draws the collapse rate in the shock of each agent (of each environment, if there are many) and stressor."""
    tables.need("stress", "rate_shock")
    unit, rows = _units(tables.stress)
    figure = _map(rows, "rate_shock", tables.stressors, "Blues")
    text = f"Collapse rate in the shock (CR) per {unit} and stressor; baseline is without stress"
    return canvas.title(figure, text, canvas.SILENT_NOTE, _counts(tables))


def vulnerability_map(tables: FigureTables) -> Figure:
    """Draws how much more often each environment's agents collapse than in the same episodes without stress."""
    tables.need("stress", "excess")
    figure = _map(grouped(tables.stress, "place"), "excess", _stressed(tables), "Oranges")
    text = "Vulnerability: CR in the shock minus CR of the same episodes without stress (excess), mean over policies"
    bounds = f"{canvas.HOLM} Those of several policies are the mean of theirs."
    return canvas.title(figure, text, canvas.SILENT_NOTE, _counts(tables, bounds))


def return_loss_map(tables: FigureTables) -> Figure:
    """Draws the return that each agent (each environment, if there are many) loses under each stressor."""
    rows = [row for row in tables.need("stress", "normalised_loss") if row["stressor"] != BASELINE]
    if all(math.isnan(number_in(row, "normalised_loss")) for row in rows):
        raise UnsuitedError("no loss of return is known: there is no baseline to compare with")
    own = {row["agent"] for row in rows if row.get("loss_scale") == OWN_RETURN}
    unit, groups = _units(rows)
    starred = {name + " *" * any(row["agent"] in own for row in part): part for name, part in groups.items()}
    figure = _map(starred, "normalised_loss", _stressed(tables), "Purples")
    return canvas.title(
        figure,
        f"Normalised loss of return in the shock per {unit} and stressor",
        "Return of the same episodes without stress minus that in the shock, over (reference − random return): 1 is "
        "all the way from a good policy to random actions, below 0 is a gain.",
        "*: these two returns are not known (`env.returns`): share of the policy's own return without stress."
        * bool(own),
        canvas.SILENT_NOTE.replace(", so no collapse", ", so no loss"),
        _counts(tables),
    )


def seed_variation(tables: FigureTables) -> Figure:
    """Draws the coefficient of variation of the collapse rate over seeds: all of it, by chance, and by training."""
    tables.need("runs", "rate_shock", "seed", "n_shock")
    groups = grouped(tables.acted(tables.runs), "agent", "mode", "stressor").values()
    rows = [part[0] | _variation(part) for part in groups if len(grouped(part, "seed")) > 1]
    if not rows:
        raise UnsuitedError("there is one seed only")
    unit, units = _units(rows)
    figure = _map(units, "variation", tables.acting, "Greys", _chance)
    seeds = canvas.span(len(grouped(part, "seed")) for part in groups)
    note = _TRAININGS if any("between" in row for row in rows) else _ONE_POLICY
    return canvas.title(
        figure,
        f"Variation over seeds per {unit} and stressor: standard deviation / mean of the collapse rate",
        "Below: the variation that so many episodes give by chance if all seeds have the same rate (binomial). It is "
        "large where few episodes collapse. Blank: no episode collapsed.",
        f"n: {seeds} seeds, mean over modes. {tables.seeds_note} {note}",
        canvas.SILENT_NOTE if any(row["proven"] for row in rows) else "",
    )


def channel_radar(tables: FigureTables) -> Figure:
    """Draws the mean channels of the shock, with their interval as a band, and the channels without stress."""
    tables.need("runs", *(f"{name}_shock" for name in CHANNELS))
    if not tables.acting:
        raise UnsuitedError("no stressor changed what any agent did")
    rows, stressors = grouped(tables.runs, "stressor"), tables.acting[:_MOST_PANELS]
    across = min(3, len(stressors))
    down = math.ceil(len(stressors) / across)
    figure = canvas.blank(max(6.0, 3.1 * across), 2.5 * down + 1.2)
    for number, stressor in enumerate(stressors):
        axes = figure.add_subplot(down, across, number + 1, projection="polar")
        if BASELINE in rows:
            _line(axes, rows[BASELINE], {"color": "black", "linestyle": ":", "linewidth": 1.2})
        n = _line(axes, rows[stressor], {"color": COLOURS[0], "marker": "o", "markersize": 4})
        frame_radar(axes)
        axes.set_title(f"{stressor} ({canvas.policies(n)})", fontsize=9, pad=10)
    left_out = f"Left out, since they {SILENT}: {', '.join(sorted(tables.silent))}." if tables.silent else ""
    return canvas.title(figure, "Channels in the shock", left_out, _LINES, canvas.INTERVALS)


def _units(rows: list[Row]) -> tuple[str, dict[str, list[Row]]]:
    """Returns what a line of a map is, and the rows of each line."""
    few = len(grouped(rows, "agent")) <= _MOST_AGENTS
    return ("agent", grouped(rows, "agent")) if few else ("environment", grouped(rows, "place"))


def _stressed(tables: FigureTables) -> list[str]:
    return [name for name in tables.stressors if name != BASELINE]


def _map(
    rows: dict[str, list[Row]],
    column: str,
    stressors: list[str],
    colours: str,
    below: Callable[[list[Row], Mean], str] | None = None,
) -> Figure:
    """Draws means per line and stressor; `below` returns the text below a mean in place of its interval."""
    names = sorted(rows)[:_MOST_ROWS]
    cells = {name: grouped(rows[name], "stressor") for name in names}
    means = {
        name: {key: Mean.of_policies(part, column) for key, part in parts.items()} for name, parts in cells.items()
    }
    longest = max(map(len, names)) + 16
    figure = canvas.blank(max(6.5, 1.4 + 0.062 * longest + 0.82 * len(stressors)), 1.9 + 0.36 * len(names))
    axes = figure.add_subplot()
    canvas.colour_cells(axes, [[means[name].get(key) for key in stressors] for name in names], colours)
    for y, name in enumerate(names):
        for x, stressor in enumerate(stressors):
            part, mean = cells[name].get(stressor, []), means[name].get(stressor)
            if part and all(row["proven"] for row in part):
                place = (x - 0.5, y - 0.5)
                axes.add_patch(Rectangle(place, 1, 1, facecolor="white", edgecolor=GREY, hatch="///", linewidth=0))
            elif mean is not None:
                _write(axes, x, y, mean, (below or _interval)(part, mean))
    known = {name: [mean.n for mean in line.values() if mean is not None] for name, line in means.items()}
    counts = [max(known[name] or [len(grouped(rows[name], "agent"))]) for name in names]
    several = max(counts) > 1
    labels = [f"{name} ({canvas.policies(n)})" if several else name for name, n in zip(names, counts, strict=True)]
    canvas.map_axes(axes, [canvas.wrapped(name) for name in stressors], labels)
    return figure


def _write(axes: Axes, x: int, y: int, mean: Mean, below: str) -> None:
    dark = mean.value > canvas.DARK
    style: dict[str, Any] = {"ha": "center", "va": "center", "color": "white" if dark else "black"}
    axes.text(x, y - 0.16, canvas.two_digits(mean.value), fontsize=8, **style)
    if below:
        axes.text(x, y + 0.24, below, fontsize=6, **style)


def _interval(rows: list[Row], mean: Mean) -> str:
    return "" if math.isnan(mean.low + mean.high) else brackets(mean.low, mean.high, canvas.two_digits)


def _chance(rows: list[Row], mean: Mean) -> str:
    names = {"chance": "chance", "between": "training"}
    means = {text: Mean.of_policies(rows, column) for column, text in names.items()}
    lines = [(text, canvas.two_digits(mean.value), _interval(rows, mean)) for text, mean in means.items() if mean]
    return "\n".join(" ".join(filter(None, line)) for line in lines)


def _variation(rows: list[Row]) -> Row:
    """Returns the coefficient of variation over the seeds of one agent, and that of binomial rates; nan at rate 0.

    `between` is that of trainings with its interval, if each seed has its own: what chance does not explain.
    """
    rates, episodes = without_nan([number_in(row, "rate_shock") for row in rows]), number_in(rows[0], "n_shock")
    mean = float(np.mean(rates)) if len(rates) > 1 else 0.0
    if mean == 0 or not episodes > 0:
        return {"variation": math.nan, "chance": math.nan}
    variation, chance = float(np.std(rates, ddof=1)) / mean, math.sqrt((1 - mean) / (mean * episodes))
    if len({row.get("training") for row in rows}) < len(rows) or episodes < 2:
        return {"variation": variation, "chance": chance}
    split = split_variance([np.arange(int(episodes)) < round(rate * episodes) for rate in rates], most=MOST_RATE_SD)
    between = {"between": split.between, "between_low": split.between_low, "between_high": split.between_high}
    return {"variation": variation, "chance": chance} | {name: value / mean for name, value in between.items()}


def _counts(tables: FigureTables, bounds: str = _BOUNDS) -> str:
    seeds = canvas.span(int(row["n_seeds"]) for row in tables.stress if row.get("n_seeds"))
    modes = counted(len({row["mode"] for row in tables.stress}), "mode")
    return f"n: {seeds or 'unknown'} seeds, mean over {modes}. {bounds}"


def _line(axes: Any, rows: list[Row], style: dict[str, Any]) -> int:
    means = [Mean.over_policies(rows, f"{name}_shock") or Mean(math.nan) for name in CHANNELS]
    angles = np.linspace(0.0, 2.0 * math.pi, len(means) + 1)
    closed = [*means, means[0]]
    axes.plot(angles, [mean.value for mean in closed], **style)
    if style["color"] != "black":
        low, high = ([getattr(mean, end) for mean in closed] for end in ("low", "high"))
        axes.fill_between(angles, low, high, color=style["color"], alpha=0.2, linewidth=0)
    return max(mean.n for mean in means)
