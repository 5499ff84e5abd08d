"""Heat maps over two strengths."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from brittlestar.reports.curve_names import MOST_LETTERS, curve_names
from brittlestar.reports.drawing import Pages, Pictures, remove_pictures, set_title
from brittlestar.results.aggregate import Tables
from brittlestar.results.format import text
from brittlestar.results.load import RATES, Row
from brittlestar.results.rows import group_rows, measures

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_heatmap(tables: Tables, folder: Path) -> Pictures:
    """Draws the measures and the return over the strength and one more number that was swept, if there is one.

    Returns:
        Names of the pictures (none without a second number; old files are removed), and of panels left out.
    """
    remove_pictures(folder, "heatmap", "heatmap_*")
    second = _second_strength(tables.curve, tables.grouping.columns)
    labels = [c for c in tables.grouping.columns if c != second]
    groups = group_rows(tables.curve, labels)
    panels = {key: rows for key, rows in groups.items() if len({row["strength"] for row in rows}) > 1}
    if second is None or not panels:
        return [], []
    names = curve_names(labels, panels, MOST_LETTERS)
    titles = {key: names[key] or f"{rows[0]['env']}, {rows[0]['policy']}" for key, rows in panels.items()}
    # Maps of one model are side by side, also where other models have more of them.
    width = max(len(_mapped(rows[0])) for rows in panels.values())
    maps = [(key, measure) for key, rows in panels.items() for measure in (_mapped(rows[0]) + [""] * 2)[:width]]
    pages = Pages(folder / "heatmap", maps)
    for _, page in pages.draw(width=4.4, across=width * (4 // width)):
        for axes, (key, measure) in page:
            axes.set_visible(bool(measure))
            blank = _draw_map(axes, panels[key], second, measure) if measure else 0
            set_title(axes, titles[key], f"{blank} fields have no result" if blank else "")
    return pages.names, [titles[key] for key in dict(pages.left_out)]


def _second_strength(curve: list[Row], columns: list[str]) -> str | None:
    """Returns the numeric column with most values, apart from the strength; None without one."""
    counts = {}
    for column in columns:
        values = {row[column] for row in curve}
        if len(values) > 1 and all(isinstance(v, int | float) and not isinstance(v, bool) for v in values):
            counts[column] = len(values)
    return max(counts, key=lambda column: counts[column], default=None)


def _mapped(row: Row) -> list[str]:
    """Returns what is mapped: the measures, and the return, which can fall while success is constant."""
    names = measures(row)
    return [*names, "return"] if names[0] in RATES else names


def _draw_map(axes: Axes, rows: list[Row], second: str, measure: str) -> int:
    """Draws one map and returns how many of its fields are blank."""
    x, y = (sorted({row[c] for row in rows}) for c in ("strength", second))
    values = np.full((len(y), len(x)), np.nan)
    for row in rows:
        values[y.index(row[second]), x.index(row["strength"])] = row[measure]
    texts = {place: f"{v:.0f}" if abs(v) >= 100 else f"{v:.3g}" for place, v in np.ndenumerate(values) if v == v}
    label = "mean return" if measure == "return" else measure.replace("_", " ")
    draw_fields(axes, values, (x, y), texts, label, is_rate=measure in RATES)
    axes.set_xlabel(next((row["strength_name"] for row in rows if row["strength_name"]), "strength"))
    axes.set_ylabel(second.rpartition(".")[2])
    return values.size - len(texts)


def draw_fields(
    axes: Axes, values: np.ndarray, ticks: tuple[list[Any], list[Any]], texts: dict[tuple[int, ...], str], label: str,
    is_rate: bool = True,
) -> None:  # fmt: skip
    """Draws values `(rows, columns)` as coloured fields with texts in them; one that is nan remains blank.

    `ticks` are the values along x and y, and `label` names the colours.
    """
    x, y = ticks
    limits: dict[str, Any] = {"vmin": 0, "vmax": 1} if is_rate else {}
    image = axes.imshow(values, origin="lower", aspect="auto", cmap="viridis", **limits)
    low, high = image.get_clim()
    size = _font_size([*texts.values(), *map(text, x)], len(x), len(y))
    for (i, j), number in texts.items():
        colour = "white" if values[i, j] < (low + high) / 2 else "black"
        axes.text(j, i, number, ha="center", va="center", fontsize=size, color=colour)
    axes.set_xticks(range(len(x)), [text(v) for v in x], fontsize=size)
    axes.set_yticks(range(len(y)), [text(v) for v in y], fontsize=size)
    axes.figure.colorbar(image, ax=axes, label=label, fraction=0.05)


def _font_size(texts: Iterable[str], across: int, down: int) -> float:
    """Returns the size, in points, at which texts fit into the fields of a map of 2.6 by 2.2 inches."""
    lines = [field.splitlines() for field in texts]
    longest, most = max((len(line) for field in lines for line in field), default=1), max(map(len, lines), default=1)
    return min(8.0, 2.6 * 72 / across / (0.75 * longest), 2.2 * 72 / down / (1.4 * most))
