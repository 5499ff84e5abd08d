"""Pictures of larger studies: a heat map over two strengths, and a sheet of models per environment."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from brittlestar.cells.identity import LABEL
from brittlestar.reports.curves import COLOURS, MARKERS, MOST_CURVES, curve_names, is_cut, measures, save, view
from brittlestar.results.aggregate import Tables
from brittlestar.results.baseline_check import MISMATCH
from brittlestar.results.format import text
from brittlestar.results.load import RATES, Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_PANELS = 12
"""Panels of one page; more of them go on further pages."""
MOST_PAGES = 10
_MODELS = (LABEL, "policy.path", "policy")
"""Columns that may tell models apart."""
_TITLE_INCHES = 2.8
Drawn = tuple[list[str], list[str]]
"""Names of pictures, and of what did not fit on them."""


def plot_heatmap(tables: Tables, folder: Path) -> Drawn:
    """Draws the measures and the return over the strength and one more number that was swept, if there is one.

    Returns:
        Names of the pictures (none without a second number; old files are removed), and of panels left out.
    """
    _remove(folder, "heatmap")
    second = _second_strength(tables.curve, tables.grouping.columns)
    others = [c for c in tables.grouping.columns if c != second]
    panels = {key: rows for key, rows in _by(tables.curve, others).items() if len(_levels(rows)) > 1}
    if second is None or not panels:
        return [], []
    names = curve_names(others, panels)
    titles = {key: names[key] or f"{rows[0]['env']}, {rows[0]['policy']}" for key, rows in panels.items()}
    # Maps of one model stand side by side, also where other models have more of them.
    width = max(len(_mapped(rows[0])) for rows in panels.values())
    maps = [(key, measure) for key, rows in panels.items() for measure in (_mapped(rows[0]) + [""] * 2)[:width]]
    pages, left_out = _pages(maps)
    for number, page in enumerate(pages):
        figure, grid = _figure(len(page), width=4.4, across=width * (4 // width))
        for axes, (key, measure) in zip(grid, page, strict=False):
            axes.set_visible(bool(measure))
            blank = _heat(axes, panels[key], second, measure) if measure else 0
            _set_title(axes, titles[key], f"{blank} fields have no result" if blank else "")
        save(figure, folder / _page("heatmap", number))
    return [_page("heatmap", i) for i in range(len(pages))], [titles[key] for key in dict(left_out)]


def plot_sheets(tables: Tables, folder: Path) -> Drawn:
    """Draws a sheet per environment with a panel per model: the cumulative reward at every strength.

    The axis of an environment with negative rewards only is reversed, and says so.

    Returns:
        Names of the pictures, and of models and curves left out. There are no pictures without several models, a
        list of models, or masks.
    """
    _remove(folder, "sheet_*")
    drawn: Drawn = [], []
    for env, rows in sorted(_by_environment(tables).items()) if _is_sheet_wanted(tables) else ():
        for all_of_them, new in zip(drawn, _sheets(tables, env, rows, folder), strict=True):
            all_of_them += new
    return drawn


def _is_sheet_wanted(tables: Tables) -> bool:
    several = any(len({row.get(column) for row in tables.curve}) > 1 for column in _MODELS)
    targets = {str(cell.config["perturbation"].get("_target_")) for cell in tables.finished}
    return several or LABEL in tables.grouping.columns or any(name.endswith("MaskObservation") for name in targets)


def _by_environment(tables: Tables) -> dict[str, list[Row]]:
    """Groups rows by registered id: one environment can have two names, its option and its id."""
    ids = {}
    for cell, label in zip(tables.finished, tables.grouping.labels, strict=True):
        ids[label] = str(cell.config["env"].get("id") or cell.choice("env"))
    found: dict[str, list[Row]] = {}
    for row in tables.curve:
        found.setdefault(ids[tuple(row[c] for c in tables.grouping.columns)], []).append(row)
    return found


def _sheets(tables: Tables, env: str, rows: list[Row], folder: Path) -> Drawn:
    models = [c for c in _MODELS if c in tables.grouping.columns]
    panels = _by(rows, models)
    titles = {key: name or text(key[-1]) for key, name in curve_names(models, panels).items()}
    # What only tells panels apart is no difference between curves.
    others = [c for c in tables.grouping.columns if any(len({row[c] for row in p}) > 1 for p in panels.values())]
    curves = curve_names(others, _by(rows, others))
    labels = dict(list(curves.items())[:MOST_CURVES])
    pages, left_out = _pages(list(panels.items()))
    stem = f"sheet_{re.sub(r'[^A-Za-z0-9]+', '_', env)}"
    for number, page in enumerate(pages):
        figure, grid = _figure(len(page), width=4.0)
        for axes, (key, points) in zip(grid, page, strict=False):
            _returns(axes, points, others, labels)
            _set_title(axes, titles[key] + _missed(points), _show_failed(axes, tables.failures, points, models))
        _finish_sheet(figure, grid[: len(page)], env, rows)
        save(figure, folder / _page(stem, number))
    names = [f"{env}: {name}" for name in [titles[key] for key, _ in left_out] + list(curves.values())[MOST_CURVES:]]
    return [_page(stem, i) for i in range(len(pages))], names


def _finish_sheet(figure: Figure, grid: list[Axes], env: str, rows: list[Row]) -> None:
    """Gives the panels one view, the sheet a title, and the curves a legend below them."""
    limits, known = view(rows, ["return"]), [row["return"] for row in rows if not math.isnan(row["return"])]
    negative = bool(known) and max(known) < 0
    for axes in grid:
        if limits:
            axes.set_ylim(*(reversed(limits) if negative else limits))
        axes.set_ylabel("cumulative reward" + "\n(axis reversed: higher up is worse)" * negative)
    cut = ", wide bands are cut" * is_cut(grid[0], rows, ["return"])
    figure.suptitle(env + cut, fontsize=11)
    lines: dict[str, Any] = {}
    for axes in grid:
        lines |= {label: line for line, label in zip(*axes.get_legend_handles_labels(), strict=True)}
    if len(lines) > 1:
        columns = min(len(lines), len(grid) + 1, 4)
        figure.legend(lines.values(), lines, loc="outside lower center", ncols=columns, frameon=False, fontsize=8)


def _returns(axes: Axes, rows: list[Row], columns: list[str], labels: dict[tuple, str]) -> None:
    curves = _by(rows, columns)
    for number, (key, label) in enumerate(labels.items()):
        points = curves.get(key, [])
        x = [row["strength"] for row in points]
        middle, low, high = (np.array([row[f"return{end}"] for row in points]) for end in ("", "_low", "_high"))
        colour, marker = COLOURS[number % len(COLOURS)], MARKERS[number // len(COLOURS) % len(MARKERS)]
        if len(points) > 1:
            axes.plot(x, middle, color=colour, marker=marker, markersize=3, label=label)
            axes.fill_between(x, low, high, color=colour, alpha=0.18, linewidth=0)
        elif points:
            axes.errorbar(x, middle, [middle - low, high - middle], color=colour, marker=marker, capsize=3, label=label)
    names = {row["strength_name"] for row in rows if row["strength_name"]}
    axes.set_xlabel(names.pop() if len(names) == 1 else "strength")
    axes.spines[["top", "right"]].set_visible(False)


def _missed(rows: list[Row]) -> str:
    return f" ({MISMATCH})" if rows[0].get("baseline_check") == MISMATCH else ""


def _show_failed(axes: Axes, failures: list[Row], rows: list[Row], models: list[str]) -> str:
    """Leaves room for strengths without a result, and says how many: a curve can be short, or a dot."""
    here = {tuple(row[c] for c in ("env", *models)) for row in rows}
    failed = [row for row in failures if tuple(row.get(c) for c in ("env", *models)) in here]
    done = _levels(rows)
    lost = _levels(failed) - done
    axes.update_datalim([(level, rows[0]["return"]) for level in lost if level is not None])
    axes.autoscale_view()
    return f"{len(lost)} of {len(lost | done)} levels failed" if lost else ""


def _mapped(row: Row) -> list[str]:
    """Success can stay flat while the return falls, so that is mapped, too."""
    found = measures(row)
    return [*found, "return"] if found[0] in RATES else found


def _heat(axes: Axes, rows: list[Row], second: str, measure: str) -> int:
    """Draws one map and returns how many of its fields are blank."""
    x, y = (sorted({row[c] for row in rows}) for c in ("strength", second))
    values = np.full((len(y), len(x)), np.nan)
    for row in rows:
        values[y.index(row[second]), x.index(row["strength"])] = row[measure]
    limits: dict[str, Any] = {"vmin": 0, "vmax": 1} if measure in RATES else {}
    image = axes.imshow(values, origin="lower", aspect="auto", cmap="viridis", **limits)
    low, high = image.get_clim()
    texts = {place: f"{v:.0f}" if abs(v) >= 100 else f"{v:.3g}" for place, v in np.ndenumerate(values) if v == v}
    size = _font_size([*texts.values(), *map(text, x)], len(x), len(y))
    for (i, j), shown in texts.items():
        colour = "white" if values[i, j] < (low + high) / 2 else "black"
        axes.text(j, i, shown, ha="center", va="center", fontsize=size, color=colour)
    axes.set_xticks(range(len(x)), [text(v) for v in x], fontsize=size)
    axes.set_yticks(range(len(y)), [text(v) for v in y], fontsize=size)
    axes.set_xlabel(next((row["strength_name"] for row in rows if row["strength_name"]), "strength"))
    axes.set_ylabel(second.rpartition(".")[2])
    label = "mean return" if measure == "return" else measure.replace("_", " ")
    axes.figure.colorbar(image, ax=axes, label=label, fraction=0.05)
    return values.size - len(texts)


def _font_size(texts: Iterable[str], across: int, down: int) -> float:
    """Returns the size, in points, at which numbers fit into the fields of a map of 2.6 by 2.2 inches."""
    longest = max(map(len, texts), default=1)
    return min(8.0, 2.6 * 72 / across / (0.75 * longest), 2.2 * 72 / down / 1.4)


def _second_strength(curve: list[Row], columns: list[str]) -> str | None:
    """Returns the numeric column with most values beside the strength; None without one."""
    found = {}
    for column in columns:
        values = {row[column] for row in curve}
        if len(values) > 1 and all(isinstance(v, int | float) and not isinstance(v, bool) for v in values):
            found[column] = len(values)
    return max(found, key=lambda column: found[column], default=None)


def _by(rows: Iterable[Row], columns: Sequence[str]) -> dict[tuple, list[Row]]:
    found: dict[tuple, list[Row]] = {}
    for row in rows:
        found.setdefault(tuple(row[column] for column in columns), []).append(row)
    return found


def _levels(rows: Iterable[Row]) -> set[float | None]:
    return {row["strength"] for row in rows}


def _pages(panels: list[Any]) -> tuple[list[list[Any]], list[Any]]:
    """Returns panels by page, and those that are too many."""
    pages = [panels[i : i + MOST_PANELS] for i in range(0, len(panels), MOST_PANELS)]
    return pages[:MOST_PAGES], panels[MOST_PANELS * MOST_PAGES :]


def _page(stem: str, number: int) -> str:
    return f"{stem}_{number + 1}" if number else stem


def _set_title(axes: Axes, *lines: str) -> None:
    """Sets a title that stays above its panel: long lines are wrapped, many of them are smaller."""
    for size in (9, 6):
        wrapped = [part for line in lines if line for part in _wrap(line, size)]
        if len(wrapped) <= 3:
            break
    axes.set_title("\n".join(wrapped), fontsize=size)


def _wrap(line: str, size: float) -> list[str]:
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(size=size)
    for characters in range(len(line), 0, -1):
        parts = textwrap.wrap(line, characters)
        widths = [text_to_path.get_text_width_height_descent(part, font, ismath=False)[0] for part in parts]
        if max(widths) <= _TITLE_INCHES * 72:
            break
    return parts


def _figure(count: int, width: float, across: int = 4) -> tuple[Figure, list[Axes]]:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    across = min(count, across)
    down = math.ceil(count / across)
    figure = Figure(figsize=(width * across, 3.4 * down + 0.3), layout="constrained")
    FigureCanvasAgg(figure)
    grid = list(figure.subplots(down, across, squeeze=False).flat)
    for axes in grid[count:]:
        axes.set_visible(False)
    return figure, grid


def _remove(folder: Path, stem: str) -> None:
    """Removes pictures of an earlier sweep."""
    for name in (stem, f"{stem}_*"):
        for suffix in (".png", ".pdf"):
            for old in folder.glob(name + suffix):
                old.unlink()
