"""A sheet of what a policy sees at the start of an episode."""

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
from brittlestar.reports.drawing import make_figure, remove_pictures, save_figure
from brittlestar.results.load import Cell

_INCHES = 1.5
"""Side of a picture that is a square; another one has the same area."""


def draw_contact_sheet(rows: dict[str, list[tuple[str, Cell]]], path: Path) -> list[str]:
    """Draws the first episode of some cells, in rows of titles and cells; returns the names of the pictures.

    There are none where nothing can be drawn.
    """
    remove_pictures(path.parent, path.name)
    try:
        frames = {name: [(title, frame_of(cell)) for title, cell in line] for name, line in rows.items()}
    except UserError:
        # Without OpenGL the sweep can still be aggregated.
        return []
    across = max(map(len, frames.values()), default=0)
    if not across:
        return []
    height, width = next(frame.shape[:2] for line in frames.values() for _, frame in line)
    wide, high = _INCHES * (width / height) ** 0.5, _INCHES * (height / width) ** 0.5
    figure = make_figure(0.8 + wide * across, 0.4 + (high + 0.2) * len(frames))
    grid = figure.subplots(len(frames), across, squeeze=False)
    for axes in grid.flat:
        axes.set_xticks([])
        axes.set_yticks([])
    for line, (name, pictures) in zip(grid, frames.items(), strict=True):
        for axes, (title, frame) in zip(line, pictures, strict=False):
            axes.imshow(frame, cmap="grey", vmin=0, vmax=255)
            axes.set_title(title, fontsize=8)
        line[0].set_ylabel(name, fontsize=10)
    save_figure(figure, path)
    return [path.name]


def first_seed(cells: list[Cell]) -> list[Cell]:
    """Returns the finished cells of the first seed."""
    finished = [cell for cell in cells if cell.done]
    return [cell for cell in finished if cell.seed == min(other.seed for other in finished)]


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
        return _picture(stack.observe(lanes.observation).perturbed, lanes)
    finally:
        lanes.close()


def _picture(seen: Any, lanes: Lanes) -> np.ndarray:
    assert lanes.view is not None
    pictures = [seen[key][0] for key in lanes.view.keys] if isinstance(seen, dict) else [seen[0]]
    depth = 1 if lanes.spec.pixels.grey else 3
    # The present picture is the last of a stack.
    return np.concatenate([picture[:, :, -depth:] for picture in pictures], axis=1)
