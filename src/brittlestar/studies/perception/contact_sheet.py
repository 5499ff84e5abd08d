"""A sheet of what a policy sees at the start of an episode: a row per axis, a column per level."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from brittlestar.cells.job import build_env
from brittlestar.config.build import build
from brittlestar.engine.lanes import Lanes
from brittlestar.engine.stack import Parts, Stack
from brittlestar.errors import UserError
from brittlestar.randomness import reset_seeds
from brittlestar.reports.drawing import make_figure, save_figure
from brittlestar.results.format import text
from brittlestar.results.load import Cell
from brittlestar.studies.perception.axes import Axis

_INCHES = 1.5


def draw_contact_sheet(axes: dict[str, Axis], cells: list[Cell], path: Path) -> bool:
    """Draws the first episode of the first seed at every level; returns whether pictures could be drawn."""
    rows: dict[str, list[np.ndarray]] = {}
    try:
        for name, axis in axes.items():
            members = [cell for cell in cells if cell.done and cell.choice("perturbation") == axis.perturbation]
            first = {cell.strength: cell for cell in sorted(members, key=lambda cell: -cell.seed)}
            rows[name] = [frame_of(first[strength]) for strength in axis.strengths]
    except UserError:
        # Without OpenGL the sweep can still be aggregated.
        return False
    figure = make_figure(0.8 + _INCHES * max(map(len, rows.values())), 0.4 + (_INCHES + 0.2) * len(rows))
    grid = figure.subplots(len(rows), max(map(len, rows.values())), squeeze=False)
    for line, (name, frames) in zip(grid, rows.items(), strict=True):
        for place, (picture, frame) in enumerate(zip(line, frames, strict=False)):
            picture.imshow(frame, cmap="grey", vmin=0, vmax=255)
            picture.set_xticks([])
            picture.set_yticks([])
            strength = text(axes[name].strengths[place])
            picture.set_title(f"{axes[name].strength} = {strength}" if place == 0 else strength, fontsize=8)
        line[0].set_ylabel(name, fontsize=10)
    save_figure(figure, path)
    return True


def frame_of(cell: Cell) -> np.ndarray:
    """Returns the first picture that the policy of a cell saw; of several cameras, side by side."""
    config = cell.config
    lanes = Lanes(build_env(json.dumps(config["env"])), 1)
    try:
        stack = Stack(lanes, Parts(None, build(config["perturbation"], "perturbation")), cell.seed)
        stack.bind()
        consecutive = config.get("episode_seeds") == "consecutive"
        lanes.reset(0, reset_seeds(cell.seed, int(config["episodes"]), consecutive)[0])
        stack.at(np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64))
        return _picture(stack.observe(lanes.observation).true, lanes)
    finally:
        lanes.close()


def _picture(seen: Any, lanes: Lanes) -> np.ndarray:
    assert lanes.view is not None
    pictures = [seen[key][0] for key in lanes.view.keys] if isinstance(seen, dict) else [seen[0]]
    depth = 1 if lanes.spec.pixels.grey else 3
    # The present picture is the last of a stack.
    return np.concatenate([picture[:, :, -depth:] for picture in pictures], axis=1)
