"""Pictures of larger studies: a heat map over two strengths, and a sheet of models per environment."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from brittlestar.cells import RATES, Row, sort_key
from brittlestar.gate import MISMATCH
from brittlestar.identity import LABEL
from brittlestar.plots import COLOURS, MARKERS, label_text, measures, save
from brittlestar.tablefiles import text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_PANELS = 12
_MODELS = (LABEL, "policy.path", "policy")
"""Columns that may tell models apart, the first that does wins."""


def plot_heatmap(curve: list[Row], columns: list[str], path: Path) -> bool:
    """Draws the measures over the strength and one more number that was swept, if there is one.

    Args:
        curve: rows of the curve table.
        columns: the label columns that tell curves apart.
        path: where to write, without a suffix.

    Returns:
        Whether there was something to draw; old files are removed if not.
    """
    second = _second_strength(curve, columns)
    panels = _panels(curve, [c for c in columns if c != second]) if second else {}
    panels = {key: rows for key, rows in panels.items() if len({row["strength"] for row in rows}) > 1}
    if not panels or second is None:
        _remove(path)
        return False
    found = [(key, rows, measure) for key, rows in panels.items() for measure in measures(rows[0])][:MOST_PANELS]
    others = [c for c in columns if c != second]
    figure, grid = _figure(len(found), width=4.4)
    for axes, (key, rows, measure) in zip(grid, found, strict=False):
        _heat(axes, rows, second, measure)
        axes.set_title(label_text(others, key, _varied(panels, others)) or _title(rows), fontsize=9)
    save(figure, path)
    return True


def plot_sheets(curve: list[Row], columns: list[str], folder: Path) -> list[str]:
    """Draws one sheet per environment with a panel per model: the cumulative reward at every strength.

    The axis of an environment with negative rewards only is flipped, so that worse is always lower in length.

    Returns:
        Names of the pictures; without two models to compare there are none.
    """
    for old in folder.glob("sheet_*.p[nd][gf]"):
        old.unlink()
    model = next((c for c in _MODELS if c in columns and len({row[c] for row in curve}) > 1), None)
    if model is None:
        return []
    names = []
    for env in sorted({str(row["env"]) for row in curve}):
        rows = [row for row in curve if str(row["env"]) == env]
        names.append(f"sheet_{re.sub(r'[^A-Za-z0-9]+', '_', env)}")
        _sheet(rows, columns, model, env, folder / names[-1])
    return names


def _sheet(rows: list[Row], columns: list[str], model: str, env: str, path: Path) -> None:
    panels = _panels(rows, [model])
    shown = list(panels.items())[:MOST_PANELS]
    others = [c for c in columns if c not in (*_MODELS, "env")]
    figure, grid = _figure(len(shown), width=4.0)
    negative = all(row["return"] < 0 for row in rows if not math.isnan(row["return"]))
    for axes, ((name,), points) in zip(grid, shown, strict=False):
        missed = f" ({MISMATCH})" if points[0].get("baseline_check") == MISMATCH else ""
        axes.set_title(f"{text(name)}{missed}", fontsize=9)
        _returns(axes, points, others)
        if negative:
            axes.invert_yaxis()
    figure.suptitle(env, fontsize=11)
    save(figure, path)


def _returns(axes: Axes, rows: list[Row], columns: list[str]) -> None:
    curves = _panels(rows, columns)
    varied = _varied(curves, columns)
    for number, (key, points) in enumerate(curves.items()):
        x = [row["strength"] for row in points]
        middle, low, high = (np.array([row[f"return{end}"] for row in points]) for end in ("", "_low", "_high"))
        colour, marker = COLOURS[number % len(COLOURS)], MARKERS[number // len(COLOURS) % len(MARKERS)]
        label = label_text(columns, key, varied)
        axes.plot(x, middle, color=colour, marker=marker, markersize=3, label=label)
        axes.fill_between(x, low, high, color=colour, alpha=0.18, linewidth=0)
    names = {row["strength_name"] for row in rows if row["strength_name"]}
    axes.set_xlabel(names.pop() if len(names) == 1 else "strength")
    axes.set_ylabel("cumulative reward")
    axes.spines[["top", "right"]].set_visible(False)
    if len(curves) > 1:
        axes.legend(frameon=False, fontsize=7)


def _heat(axes: Axes, rows: list[Row], second: str, measure: str) -> None:
    x, y = (sorted({row[c] for row in rows}) for c in ("strength", second))
    values = np.full((len(y), len(x)), np.nan)
    for row in rows:
        values[y.index(row[second]), x.index(row["strength"])] = row[measure]
    limits: dict[str, Any] = {"vmin": 0, "vmax": 1} if measure in RATES else {}
    image = axes.imshow(values, origin="lower", aspect="auto", cmap="viridis", **limits)
    middle = 0.5 if limits else float(np.nanmin(values) + np.nanmax(values)) / 2
    for (i, j), value in np.ndenumerate(values):
        if not math.isnan(value):
            colour = "white" if value < middle else "black"
            axes.text(j, i, f"{value:.3g}", ha="center", va="center", fontsize=7, color=colour)
    axes.set_xticks(range(len(x)), [text(v) for v in x])
    axes.set_yticks(range(len(y)), [text(v) for v in y])
    axes.set_xlabel(next((row["strength_name"] for row in rows if row["strength_name"]), "strength"))
    axes.set_ylabel(second.rpartition(".")[2])
    axes.figure.colorbar(image, ax=axes, label=measure.replace("_", " "), fraction=0.05)


def _second_strength(curve: list[Row], columns: list[str]) -> str | None:
    """Returns the numeric column with most values beside the strength; None without one."""
    found = {}
    for column in columns:
        values = {row[column] for row in curve}
        if len(values) > 1 and all(isinstance(v, int | float) and not isinstance(v, bool) for v in values):
            found[column] = len(values)
    return max(found, key=lambda column: found[column], default=None)


def _panels(rows: Iterable[Row], columns: Sequence[str]) -> dict[tuple, list[Row]]:
    panels: dict[tuple, list[Row]] = {}
    for row in rows:
        panels.setdefault(tuple(row[column] for column in columns), []).append(row)
    return dict(sorted(panels.items(), key=lambda item: sort_key(item[0])))


def _varied(panels: dict[tuple, Any], columns: Sequence[str]) -> list[int]:
    return [i for i in range(len(columns)) if len({key[i] for key in panels}) > 1]


def _title(rows: list[Row]) -> str:
    return f"{rows[0]['env']}, {rows[0]['policy']}"


def _figure(count: int, width: float) -> tuple[Figure, list[Axes]]:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    across = min(count, 4)
    down = math.ceil(count / across)
    figure = Figure(figsize=(width * across, 3.4 * down + 0.3), layout="constrained")
    FigureCanvasAgg(figure)
    grid = list(figure.subplots(down, across, squeeze=False).flat)
    for axes in grid[count:]:
        axes.set_visible(False)
    return figure, grid


def _remove(path: Path) -> None:
    for suffix in (".png", ".pdf"):
        path.with_suffix(suffix).unlink(missing_ok=True)
