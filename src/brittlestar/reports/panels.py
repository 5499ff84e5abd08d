"""Pages of small panels: their grid, titles and names."""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING, Any

from brittlestar.reports.drawing import make_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_PANELS = 12
"""Panels of one page; more of them go on further pages."""
Pictures = tuple[list[str], list[str]]
"""Names of pictures, and of what did not fit on them."""
_MOST_PAGES = 10
_TITLE_INCHES = 2.8


def split_pages(panels: list[Any]) -> tuple[list[list[Any]], list[Any]]:
    """Returns panels by page, and those that are too many."""
    pages = [panels[i : i + MOST_PANELS] for i in range(0, len(panels), MOST_PANELS)]
    return pages[:_MOST_PAGES], panels[MOST_PANELS * _MOST_PAGES :]


def page_name(stem: str, number: int) -> str:
    """Returns the name of a page; the first has none.

    Example:
        >>> page_name("heatmap", 0), page_name("heatmap", 1)
        ('heatmap', 'heatmap_2')
    """
    return f"{stem}_{number + 1}" if number else stem


def make_panels(count: int, width: float, across: int = 4) -> tuple[Figure, list[Axes]]:
    """Returns a figure with a grid of panels, and its axes; those behind `count` are invisible."""
    across = min(count, across)
    down = math.ceil(count / across)
    figure = make_figure(width * across, 3.4 * down + 0.3)
    grid = list(figure.subplots(down, across, squeeze=False).flat)
    for axes in grid[count:]:
        axes.set_visible(False)
    return figure, grid


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
