"""Films of recorded episodes: run again, compared with their record, drawn and written."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from brittlestar.cells.replay import Replay, replay
from brittlestar.engine.reward_recorder import REWARD_COLUMNS
from brittlestar.reports.film_choice import Chosen, clean_twin, curves_of, flipped, narrow, same_curve, worst
from brittlestar.reports.film_sheet import Backdrop, FilmSheet
from brittlestar.reports.rerun_file import write_rerun
from brittlestar.reports.video import write_film
from brittlestar.results.load import Cell

FILMS = "films"
"""Folder of the films, in that of the sweep."""
_USUAL_STEP, _LONGEST_STEP, _SHORTEST_STEP = 0.04, 0.2, 0.02
"""Seconds."""
_MOST_FRAMES = 600
"""The pictures of an episode are held in memory."""

_NO_CHANGE = (
    "code, versions and files are those of the record: the policy or the environment has a clock, random numbers or a "
    "memory of its own"
)


@dataclass
class FilmOptions:
    """How films look."""

    size: int = 480
    """Pixels of a side of the picture of the environment."""
    slow: float = 1.0
    """How many times slower than the simulation."""
    side_by_side: bool = False
    """Beside the same episode without the perturbation."""
    gif: bool = False
    frames: bool = False
    """Write every frame as a PNG, too."""
    rerun: bool = False
    """Write a recording for the Rerun viewer, too."""


@dataclass
class Film:
    """A written film, and the episode that it shows."""

    chosen: Chosen
    replay: Replay
    path: Path
    recording: Path | None = None
    """For the Rerun viewer."""

    @property
    def lines(self) -> list[str]:
        """What to tell about it: whether the row is the recorded one, and where the film is."""
        cell, again = self.chosen.cell, self.replay
        name = f"cell {cell.manifest['number']}, episode {self.chosen.episode} ({self.chosen.why})"
        if again.differences:
            pairs = [f"{column} was {old:g}, now {new:g}" for column, (old, new) in list(again.differences.items())[:5]]
            reasons = again.changes or [_NO_CHANGE]
            lines = [f"{name}: not the recorded row: {'; '.join(pairs)}", *(f"  {reason}" for reason in reasons)]
        else:
            lines = [f"{name}: the recorded row, bit for bit"]
        notes = [f"without pictures: {again.no_pictures}"] if again.no_pictures else []
        notes += [f"one frame for {again.every} steps"] if again.every > 1 else []
        lines.append(f"  {self.path}" + (f" ({'; '.join(notes)})" if notes else ""))
        return [*lines, f"  {self.recording}"] if self.recording is not None else lines


def film(cells: Sequence[Cell], chosen: Chosen, folder: Path, options: FilmOptions) -> Film:
    """Runs an episode again and films it; `cells` are those of its sweep."""
    cell, episode = chosen.cell, chosen.episode
    twin = clean_twin(cells, cell) if options.side_by_side and cell.strength != 0 else None
    every = _distance([cell] if twin is None else [cell, twin], episode)
    again = replay(cell.manifest, cell.rows(), episode, options.size, every)
    sheets, beside = [_sheet(cells, cell, episode, again, options)], None
    if twin is not None:
        beside = replay(twin.manifest, twin.rows(), episode, options.size, every)
        sheets.insert(0, _sheet(cells, twin, episode, beside, options))
    stem = f"cell_{cell.manifest['number']}_episode_{episode}" + ("_beside_clean" if twin is not None else "")
    if again.differences:
        # It does not show the recorded episode, and must not pass for it.
        stem += "_other"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{stem}.{'gif' if options.gif else 'mp4'}"
    write_film(path, _joined(sheets), _rate(again) / options.slow)
    if options.frames:
        _write_frames(folder / stem, _joined(sheets))
    recording = path.with_suffix(".rrd") if options.rerun else None
    if recording is not None:
        replays = {"": again} if beside is None else {"perturbed": again, "clean": beside}
        write_rerun(recording, replays, " ".join(sheets[-1].title))
    return Film(chosen, again, path, recording)


def film_sweep(cells: Sequence[Cell], folder: Path, count: int) -> Iterator[Film]:
    """Films the worst perturbed episodes of each curve, and one that only the perturbation makes fail, beside clean."""
    filmed = set()
    for curve in curves_of(cells):
        perturbed = [cell for cell in curve if cell.strength != 0] or curve
        for chosen in worst(perturbed, count):
            filmed.add(chosen.place)
            yield film(cells, chosen, folder, FilmOptions())
    flips = flipped(cells, narrow(cells), len(filmed) + 1)
    for chosen in [flip for flip in flips if flip.place not in filmed][:1] or flips[:1]:
        yield film(cells, chosen, folder, FilmOptions(side_by_side=True))


def _sheet(cells: Sequence[Cell], cell: Cell, episode: int, again: Replay, options: FilmOptions) -> FilmSheet:
    strength = f"{cell.strength_name} = {cell.strength:g}" if cell.strength else "none"
    place = f"{cell.choice('perturbation')} {strength}"
    title = [cell.choice("policy"), f"{place}, seed {cell.seed}, episode {episode}"]
    if cell.choice("mitigation") != "none":
        title.append(f"mitigation {cell.choice('mitigation')}")
    return FilmSheet(again, title, options.size, _backdrop(same_curve(cells, cell)))


def _backdrop(cells: list[Cell]) -> Backdrop:
    step, mean = (REWARD_COLUMNS.index(name) for name in ("step", "mean"))
    curves = []
    for cell in sorted(cells, key=lambda cell: cell.strength):
        record = cell.rewards()
        if record is not None:
            steps, means = (np.concatenate([[0.0], record[:, place]]) for place in (step, mean))
            curves.append((cell.strength, steps, means))
    return Backdrop(curves, next((str(cell.strength_name) for cell in cells if cell.strength_name), ""))


def _distance(cells: list[Cell], episode: int) -> int:
    """Returns how many steps a frame covers, the same for films side by side; 1 for most episodes."""
    # An episode that does not exist is an error of the replay.
    lengths = [float(length) for cell in cells for length in cell.column("length")[episode : episode + 1]]
    return max(1, math.ceil(max(lengths, default=1) / _MOST_FRAMES))


def _joined(sheets: list[FilmSheet]) -> Iterator[np.ndarray]:
    """Yields frames side by side; a film that ends earlier keeps its last frame."""
    for number in range(max(map(len, sheets))):
        yield np.concatenate([sheet.frame(number) for sheet in sheets], axis=1)


def _rate(again: Replay) -> float:
    """Returns frames per second: as fast as the simulation, where that can be watched."""
    return 1 / min(max((again.step_seconds or _USUAL_STEP) * again.every, _SHORTEST_STEP), _LONGEST_STEP)


def _write_frames(folder: Path, frames: Iterator[np.ndarray]) -> None:
    from PIL import Image

    folder.mkdir(parents=True, exist_ok=True)
    for number, frame in enumerate(frames):
        Image.fromarray(frame).save(folder / f"{number:04d}.png")
