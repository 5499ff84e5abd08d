"""What the live bar of a sweep shows: cells, speed, time left, and the curves so far, as many as fit."""

from __future__ import annotations

from typing import NamedTuple

from rich.text import Text

from brittlestar.sweeps.live_bar import bar_line
from brittlestar.sweeps.running_curves import RunningCurves
from brittlestar.sweeps.screen import cropped, small_curve

_MOST_CURVES = 8
_OTHER_ROWS = 6
"""Rows of the terminal that curves leave free."""
_SHORTEST_NAME = 8


class BarState(NamedTuple):
    """What the bar shows of a sweep."""

    share: float
    """Of the cells that ended."""
    parts: list[str]
    """Texts behind the bar, the most important first; empty ones are left out."""
    counts: str
    """How the cells ended."""
    failed: int
    remark: str = ""
    curves: RunningCurves | None = None


def bar_lines(state: BarState, size: tuple[int, int], blocks: bool) -> list[Text]:
    """Returns the lines for a terminal of some columns and rows."""
    width, height = size
    counts = Text(state.counts, "dim")
    if state.failed:
        counts.highlight_words([f"{state.failed} failed"], "not dim red")
    counts.append(state.remark, "yellow")
    lines = [bar_line(state.share, [part for part in state.parts if part], width, blocks), counts]
    if state.curves is not None and state.curves.curves:
        lines += curve_lines(state.curves, width, min(_MOST_CURVES, max(1, height - _OTHER_ROWS)), blocks)
    return lines


def curve_lines(running: RunningCurves, width: int, most: int, blocks: bool) -> list[Text]:
    """Returns a line for each of the last curves: its name, its values by strength, their mean and the episodes."""
    strengths, curves = running.strengths, running.latest(most)
    values = [curve.at(strengths) for curve in curves]
    numbers = [value for row in values for value in row if value == value]
    low, high = (min(numbers), max(numbers)) if running.measure == "return" else (0.0, 1.0)
    shapes = [small_curve(row, low, high, blocks) for row in values]
    ends = [f"  mean {curve.mean:.3g}" for curve in curves]
    longer = [f"{end}, {curve.episodes:,} episodes" for end, curve in zip(ends, curves, strict=True)]
    longest_name = max(len(curve.name) for curve in curves)
    if longest_name + 2 + len(shapes[0]) + max(map(len, longer)) <= width:
        ends = longer
    space = max(_SHORTEST_NAME, width - 2 - len(shapes[0]) - max(map(len, ends)))
    names = [cropped(curve.name, min(space, longest_name)).ljust(min(space, longest_name)) for curve in curves]
    span = f" over {running.strength_name} {strengths[0]:g} to {strengths[-1]:g}" if len(strengths) > 1 else ""
    more = f", {len(running.curves) - len(curves)} more curves" if len(running.curves) > len(curves) else ""
    lines = [Text(f"{running.measure} so far{span}{more}", "dim")]
    for name, shape, end in zip(names, shapes, ends, strict=True):
        lines.append(Text.assemble(name, "  ", (shape, "cyan"), end))
    return lines
