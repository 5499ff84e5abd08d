"""What all pictures share: colours, empty figures, pages of panels, files."""

from __future__ import annotations

import math
import textwrap
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from brittlestar.results.load import Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DPI = 150
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Okabe–Ito: readers with any colour vision can distinguish them."""
_MARKERS = ("o", "s", "^")
MOST_PANELS = 12
"""Panels of one page; more of them go on further pages."""
Pictures = tuple[list[str], list[str]]
"""Names of pictures, and of what did not fit on them."""
_MOST_PAGES = 10
_TITLE_INCHES = 2.8
Panel = TypeVar("Panel")


def make_figure(width: float, height: float, **pads: float) -> Figure:
    """Returns a figure without axes, in inches; `pads` are those of a constrained layout."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    # A busy machine needs more than a second for it, which is no concern of the user.
    warnings.filterwarnings("ignore", 'Creating legend with loc="best"', UserWarning)
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


class Pages(Generic[Panel]):
    """Pages of panels in files `STEM`, `STEM_2` and so on: names of the files, and panels that are too many."""

    def __init__(self, path: Path, panels: list[Panel]) -> None:
        self._path, self._panels = path, panels[: MOST_PANELS * _MOST_PAGES]
        self.left_out = panels[MOST_PANELS * _MOST_PAGES :]
        self.names: list[str] = []

    def draw(self, width: float, across: int = 4) -> Iterator[tuple[Figure, list[tuple[Axes, Panel]]]]:
        """Yields the figure of each page with its axes and panels, and saves it afterwards."""
        for start in range(0, len(self._panels), MOST_PANELS):
            page = self._panels[start : start + MOST_PANELS]
            columns = min(len(page), across)
            rows = math.ceil(len(page) / columns)
            figure = make_figure(width * columns, 3.4 * rows + 0.3)
            grid = figure.subplots(rows, columns, squeeze=False).ravel()
            for axes in grid[len(page) :]:
                axes.set_visible(False)
            yield figure, list(zip(grid, page, strict=False))
            self.names.append(self._path.name + (f"_{len(self.names) + 1}" if self.names else ""))
            save_figure(figure, self._path.with_name(self.names[-1]))


def set_title(axes: Axes, *lines: str) -> None:
    """Sets a title that is no wider than its panel: long lines are wrapped, many of them are smaller."""
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
