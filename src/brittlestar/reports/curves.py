"""One picture per sweep: curves with bands, from the tables alone."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from brittlestar.cells.identity import LABEL
from brittlestar.results.baseline_check import MISMATCH
from brittlestar.results.format import text
from brittlestar.results.load import RATES, Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DPI = 150
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Okabe–Ito: told apart by every reader."""
MARKERS = ("o", "s", "^")
"""A colour that comes again has another marker."""
MOST_CURVES = 12
MOST_PANELS = 6
MOST_INSIDE = 8
"""A legend with more entries would hide curves."""
STYLES = {"success_any": "-", "success_final": "--"}
MISSED_STYLES = {"success_any": ":", "success_final": "-."}
"""Curves of a policy that misses its recorded return; their markers are hollow, too."""
BARE = (LABEL, "env", "policy", "policy.path", "perturbation")
"""Columns whose values need no word before them."""


def plot_curves(curve: list[Row], columns: list[str], path: Path) -> list[str]:
    """Draws the curve table as PNG and PDF, one panel per strength name and unit; without rows, removes old ones.

    Args:
        curve: rows of the curve table.
        columns: the label columns that tell curves apart.
        path: where to write, without a suffix.

    Returns:
        Names of the curves that were left out because the picture would be unreadable.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    panels: dict[tuple[str, str], list[Row]] = {}
    for row in curve:
        panels.setdefault((row["strength_name"] or "strength", _unit(row)), []).append(row)
    if not panels:
        for suffix in (".png", ".pdf"):
            path.with_suffix(suffix).unlink(missing_ok=True)
        return []
    shown = list(panels.items())[:MOST_PANELS]
    figure = Figure(figsize=(1.5 + 5 * len(shown), 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    left_out = [name for rows in list(panels.values())[MOST_PANELS:] for name in _names(rows, columns).values()]
    for axes, ((name, unit), rows) in zip(figure.subplots(1, len(shown), squeeze=False)[0], shown, strict=True):
        left_out += _panel(axes, rows, columns)
        axes.set_xlabel(f"{name} of {_only(rows, 'perturbation')}" if _only(rows, "perturbation") else name)
        axes.set_ylabel(f"{unit} (wide bands are cut)" if is_cut(axes, rows, measures(rows[0])) else unit)
        axes.set_title(", ".join(filter(None, (_only(rows, "env"), _only(rows, "policy")))), fontsize=10)
    _place_legends(figure)
    save(figure, path)
    return left_out


def save(figure: Figure, path: Path, dpi: int = DPI) -> None:
    """Writes a figure as PNG and PDF."""
    # Lay out once, not again for each file, and with the letters of the picture: small ones are wider there.
    figure.set_dpi(dpi)
    figure.draw_without_rendering()
    figure.set_layout_engine(None)
    figure.savefig(path.with_suffix(".png"), dpi=dpi)
    # No date in the file: the same table gives the same bytes.
    figure.savefig(path.with_suffix(".pdf"), metadata={"CreationDate": None})


def curve_names(columns: Sequence[str], keys: Iterable[tuple]) -> dict[tuple, str]:
    """Names curves by the fewest columns that tell them apart, and paths by their last parts.

    Example:
        >>> curve_names(["env", "policy", "mitigation.alpha"], [("a", "b", 0.1), ("a", "b", 0.3)])
        {('a', 'b', 0.1): 'alpha 0.1', ('a', 'b', 0.3): 'alpha 0.3'}
    """
    keys = list(keys)
    shown = _telling(columns, keys)
    texts = {i: _short_texts({text(key[i]) for key in keys}) for i in shown}
    words = {i: "" if columns[i] in BARE else f"{columns[i].rpartition('.')[2]} " for i in shown}
    return {key: ", ".join(words[i] + texts[i][text(key[i])] for i in shown if key[i] is not None) for key in keys}


def view(rows: list[Row], names: Sequence[str]) -> tuple[float, float] | None:
    """Returns limits of the y axis: all means, and the bands where they stay near; None if nothing is known.

    A t interval over two or three seeds can be many times as wide as everything that was measured.
    """
    means, low, high = (_known(rows, names, end) for end in ("", "_low", "_high"))
    if not means.size:
        return None
    bottom, top = float(means.min()), float(means.max())
    reach = (top - bottom) / 4 or abs(top) or 1.0
    bottom = max(bottom - reach, low.min(initial=bottom))
    top = min(top + reach, high.max(initial=top))
    margin = 0.05 * (top - bottom or reach)
    return bottom - margin, top + margin


def is_cut(axes: Axes, rows: list[Row], names: Sequence[str]) -> bool:
    """Whether a band leaves the view."""
    bottom, top = sorted(axes.get_ylim())
    low, high = (_known(rows, names, end) for end in ("_low", "_high"))
    return bool((low < bottom).any() or (high > top).any())


def _known(rows: list[Row], names: Sequence[str], end: str) -> np.ndarray:
    values = np.array([row[name + end] for row in rows for name in names], dtype=float)
    return values[np.isfinite(values)]


def _telling(columns: Sequence[str], keys: list[tuple]) -> list[int]:
    """Returns the columns to name: from all that vary, those that the others make needless are dropped."""
    shown = [i for i in range(len(columns)) if len({key[i] for key in keys}) > 1]
    for i in sorted(shown, key=lambda i: _worth(columns[i])):
        rest = [j for j in shown if j != i]
        kept = {tuple(key[j] for j in rest) for key in keys}
        if len(kept) == len(keys) and all(any(value is not None for value in part) for part in kept):
            shown = rest
    # A model stands by its name, also where it is alone.
    return shown or [i for i, column in enumerate(columns) if column == LABEL]


def _worth(column: str) -> int:
    """Says which columns to keep in names: a model before its policy, a policy before its environment."""
    return 3 if column == LABEL else {"env": 0, "policy": 1}.get(column.partition(".")[0], 2)


def _short_texts(values: Iterable[str]) -> dict[str, str]:
    """Writes paths by their last parts: two, or as many as tell them apart."""
    parts = {value: value.split("/") for value in values}
    short = {}
    for value, own in parts.items():
        others = [other for other in parts.values() if other is not own]
        count = next((n for n in range(2, len(own)) if all(other[-n:] != own[-n:] for other in others)), len(own))
        short[value] = "/".join(own[-count:])
    return short


def _names(rows: list[Row], columns: list[str]) -> dict[tuple, str]:
    curves = _curves(rows, columns)
    return {key: name or text(curves[key][0]["policy"]) for key, name in curve_names(columns, curves).items()}


def _panel(axes: Axes, rows: list[Row], columns: list[str]) -> list[str]:
    curves = _curves(rows, columns)
    names = curve_names(columns, curves)
    shown = list(curves.items())[:MOST_CURVES]
    for number, (key, points) in enumerate(shown):
        for measure in measures(points[0]):
            # Many bands on each other would hide the curves.
            _band(axes, points, measure, names[key], number, alpha=min(0.18, 0.7 / len(shown)))
    limits = view([row for _, points in shown for row in points], measures(rows[0]))
    if measures(rows[0])[0] in RATES:
        axes.set_ylim(-0.03, 1.03)
    elif limits:
        axes.set_ylim(*limits)
    axes.spines[["top", "right"]].set_visible(False)
    return [names[key] for key in list(curves)[MOST_CURVES:]]


def _place_legends(figure: Figure) -> None:
    """Adds a legend to every panel: beside the curves where it is long, or would lie on them."""
    figure.set_dpi(DPI)
    for axes in figure.axes:
        if len(axes.get_legend_handles_labels()[1]) > MOST_INSIDE:
            _beside(figure, axes, fontsize=6)
        else:
            axes.legend(frameon=False, fontsize=8)
    figure.draw_without_rendering()
    for axes in figure.axes:
        if _covers(axes):
            _beside(figure, axes, fontsize=8)
            figure.draw_without_rendering()


def _beside(figure: Figure, axes: Axes, fontsize: int) -> None:
    labels = axes.get_legend_handles_labels()[1]
    axes.legend(frameon=False, fontsize=fontsize, loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0)
    figure.set_figwidth(figure.get_figwidth() + 0.5 + fontsize / 120 * max(map(len, labels)))


def _covers(axes: Axes) -> bool:
    legend = axes.get_legend()
    box = legend.get_window_extent() if legend else None
    paths = [line.get_transform().transform_path(line.get_path()) for line in axes.get_lines()]
    return box is not None and any(box.count_contains(p.vertices) or p.intersects_bbox(box, False) for p in paths)


def _band(axes: Axes, points: list[Row], measure: str, label: str, number: int, alpha: float) -> None:
    x = [row["strength"] for row in points]
    middle, low, high = (np.array([row[measure + end] for row in points]) for end in ("", "_low", "_high"))
    colour, marker = COLOURS[number % len(COLOURS)], MARKERS[number // len(COLOURS) % len(MARKERS)]
    # A single success is that of the episode, not of a step.
    step = measure.replace("success_", "") + " step" if len(measures(points[0])) > 1 else ""
    name = " ".join(filter(None, (label, step))) or ("success" if measure in RATES else measure.replace("_", " "))
    style: dict[str, Any] = {"color": colour, "linestyle": STYLES.get(measure, "-"), "marker": marker, "markersize": 3}
    if points[0].get("baseline_check") == MISMATCH:
        name = f"{name} ({MISMATCH})"
        style |= {"linestyle": MISSED_STYLES.get(measure, ":"), "markerfacecolor": "none"}
    if len(points) > 1:
        axes.plot(x, middle, label=name, **style)
        axes.fill_between(x, low, high, color=colour, alpha=alpha, linewidth=0)
    else:
        axes.errorbar(x, middle, [middle - low, high - middle], label=name, capsize=3, **style)


def _curves(rows: list[Row], columns: list[str]) -> dict[tuple, list[Row]]:
    curves: dict[tuple, list[Row]] = {}
    for row in rows:
        curves.setdefault(tuple(row[column] for column in columns), []).append(row)
    return curves


def _only(rows: list[Row], column: str) -> str:
    values = {row[column] for row in rows}
    return str(values.pop()) if len(values) == 1 else ""


def _unit(row: Row) -> str:
    measure = measures(row)[0]
    return "success rate" if measure in RATES else measure.replace("_", " ")


def measures(row: Row) -> list[str]:
    """Returns which measures a curve row shows."""
    return _measures(tuple(row))


@functools.lru_cache(maxsize=64)
def _measures(columns: tuple[str, ...]) -> list[str]:
    return [name.removesuffix("_method") for name in columns if name.endswith("_method")]
