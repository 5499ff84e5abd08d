"""What all pictures share: colours, empty figures, files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from brittlestar.results.load import Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DPI = 150
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Okabe–Ito: readers with any colour vision can distinguish them."""
_MARKERS = ("o", "s", "^")


def make_figure(width: float, height: float, **pads: float) -> Figure:
    """Returns a figure without axes, in inches; `pads` are those of a constrained layout."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    figure.get_layout_engine().set(**pads)  # type: ignore[union-attr]
    return figure


def save_figure(figure: Figure, path: Path, dpi: int = DPI) -> None:
    """Writes a figure as PNG and PDF."""
    # Lay out once, not again for each file, and with the letters of the picture: small ones are wider there.
    figure.set_dpi(dpi)
    figure.draw_without_rendering()
    figure.set_layout_engine(None)
    figure.savefig(path.with_suffix(".png"), dpi=dpi)
    # No date in the file: the same table gives the same bytes.
    figure.savefig(path.with_suffix(".pdf"), metadata={"CreationDate": None})


def remove_pictures(folder: Path, *stems: str) -> None:
    """Removes the pictures of an earlier sweep; a stem may be a pattern."""
    for stem in stems:
        for suffix in (".png", ".pdf"):
            for old in folder.glob(stem + suffix):
                old.unlink()


def series_style(number: int) -> dict[str, Any]:
    """Returns colour and marker of a curve: a colour that comes again has another marker.

    Example:
        >>> series_style(0)["marker"], series_style(len(COLOURS))["marker"]
        ('o', 's')
    """
    return {"color": COLOURS[number % len(COLOURS)], "marker": _MARKERS[number // len(COLOURS) % len(_MARKERS)]}


def draw_series(axes: Axes, points: list[Row], column: str, label: str, alpha: float = 0.18, **style: Any) -> None:
    """Draws a column over the strength, with its interval as a band, or as a bar for a single point."""
    x = [row["strength"] for row in points]
    middle, low, high = (np.array([row[column + end] for row in points]) for end in ("", "_low", "_high"))
    if len(points) > 1:
        axes.plot(x, middle, label=label, markersize=3, **style)
        axes.fill_between(x, low, high, color=style["color"], alpha=alpha, linewidth=0)
    elif points:
        axes.errorbar(x, middle, [middle - low, high - middle], label=label, markersize=3, capsize=3, **style)


def open_frame(axes: Axes) -> Axes:
    """Removes the frame above and on the right, and returns the axes."""
    axes.spines[["top", "right"]].set_visible(False)
    return axes
