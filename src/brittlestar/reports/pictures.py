"""The pictures of a sweep, from the part of its tables that they show."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import NamedTuple

from brittlestar.reports.curve_plot import plot_curves
from brittlestar.reports.heatmaps import plot_heatmap
from brittlestar.reports.notes import left_out
from brittlestar.reports.reward_plots import plot_rewards
from brittlestar.reports.sheets import plot_sheets
from brittlestar.results.aggregate import Tables
from brittlestar.results.cell_table import CellTable
from brittlestar.results.grouping import Grouping
from brittlestar.results.load import Cell, Row
from brittlestar.results.packed_cells import pack_cells
from brittlestar.results.reward_curves import RewardCurve


class DrawnPictures(NamedTuple):
    """Names of the pictures, of those of rewards, and notes on what did not fit on them."""

    names: list[str]
    rewards: list[str]
    notes: list[str]


def shown_part(tables: Tables, curve: list[Row]) -> Tables:
    """Returns the tables that pictures show: without the rows of cells, and with one cell for all that look alike."""
    alike: dict[tuple, Cell] = {}
    places = tables.finished.firsts()[0]
    for place, cell in zip(places, tables.finished.choose(places), strict=True):
        label = tables.grouping.labels[place]
        alike.setdefault((label, str(cell.setting("perturbation").get("_target_"))), cell)
    finished = pack_cells(dataclasses.replace(cell, source=None, held=None) for cell in alike.values())
    grouping = Grouping(tables.grouping.columns, [label for label, _ in alike])
    return dataclasses.replace(tables, cells=CellTable(), curve=curve, finished=finished, grouping=grouping)


def draw_pictures(tables: Tables, rewards: list[RewardCurve], out: Path) -> DrawnPictures:
    """Draws all pictures of a sweep; `tables` may be the part that pictures show."""
    columns = tables.grouping.columns
    notes = left_out("curve", plot_curves(tables.curve, columns, out / "curve"))
    names = ["curve"] * bool(tables.curve)
    for kind, plot in (("heatmap", plot_heatmap), ("sheet", plot_sheets)):
        more, unseen = plot(tables, out)
        names, notes = names + more, notes + left_out(kind, unseen)
    drawn, lost = plot_rewards(rewards, columns, out)
    return DrawnPictures(names, drawn, notes + left_out("reward", lost))
