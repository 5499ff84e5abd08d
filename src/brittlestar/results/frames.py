"""The tables of a sweep as data frames, for the Python API."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from brittlestar.results.aggregate import aggregate
from brittlestar.results.load import Cell


@dataclass
class Result:
    """The tables of an evaluation or a sweep, as data frames."""

    episodes: pd.DataFrame
    cells: pd.DataFrame
    curve: pd.DataFrame
    summary: pd.DataFrame
    notes: list[str] = field(default_factory=list)
    """What a reader should know: where the environment comes from, what the parts did."""


def data_frames(cells: Iterable[tuple[dict[str, Any], np.ndarray]]) -> Result:
    """Aggregates cells, each a manifest and its episode rows, and returns their tables."""
    tables = aggregate([Cell(manifest, held=rows) for manifest, rows in cells])
    frames = []
    for label, cell in tables.episodes():
        frame = pd.DataFrame(cell.rows(), columns=list(cell.manifest["columns"]))
        frame["phase"] = [cell.manifest["phases"][int(code)] for code in frame["phase"]]
        for place, (key, value) in enumerate(label.items()):
            frame.insert(place, key, value)
        frames.append(frame)
    per_cell, curve, summary = (pd.DataFrame(list(rows)) for rows in (tables.cells, tables.curve, tables.summary))
    notes = list(dict.fromkeys(note for cell in tables.finished.kinds() for note in cell.notes))
    return Result(pd.concat(frames, ignore_index=True), per_cell, curve, summary, notes)
