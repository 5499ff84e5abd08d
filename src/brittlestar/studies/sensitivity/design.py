"""A design of a sensitivity study with the response at its points, and what follows for each factor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from brittlestar.errors import UserError, counted, require_choice
from brittlestar.randomness import generator
from brittlestar.results.load import ROW_KEYS, Cell
from brittlestar.statistics.sensitivity import MorrisEffects, SobolIndices, morris_effects, sobol_indices
from brittlestar.studies.broken_episodes import failed_episodes
from brittlestar.studies.factors import Factor

FAILURE = "failure"
_FEWEST_BLOCKS = 2


class Question(NamedTuple):
    """The settings of all studies of a sweep, see `study.Sensitivity`."""

    method: str
    samples: int
    metric: str
    threshold: float


class Design(NamedTuple):
    """Factors, points in [0, 1], and the values of the config at each."""

    factors: list[Factor]
    points: np.ndarray
    values: list[dict[str, float]]
    method: str

    @property
    def block(self) -> int:
        """Points that belong together: of one row of a Saltelli design, or of one trajectory."""
        return len(self.factors) + (2 if self.method == "sobol" else 1)


@dataclass(frozen=True)
class Finding:
    """The response at all points of a design, and the sensitivity to each factor."""

    design: Design
    response: np.ndarray
    """The mean response at every point, nan for a cell that failed."""
    clean: float
    """The response without perturbation; nan if the cell failed."""
    sensitivity: SobolIndices | MorrisEffects
    episodes: int
    example: Cell
    """One of the cells."""


def analyse_design(design: Design, cells: list[Cell], clean: Cell, question: Question) -> Finding:
    """Returns the sensitivity of a metric; blocks of the design with a failed cell are left out."""
    if not clean.done:
        raise UserError(f"the clean cell failed: {clean.manifest.get('error', '')}")
    done = np.array([cell.done for cell in cells])
    blocks = done.reshape(-1, design.block).all(axis=1)
    if blocks.sum() < _FEWEST_BLOCKS:
        error = next(cell.manifest.get("error", "") for cell in cells if not cell.done)
        raise UserError(f"{counted(int((~done).sum()), 'cell')} of the design failed, so there are no indices: {error}")
    episodes = {number: _response(cell, clean, question) for number, cell in enumerate(cells) if cell.done}
    kept = np.flatnonzero(np.repeat(blocks, design.block)).tolist()
    response, random = np.array([episodes[i] for i in kept]), generator(cells[0].seed, "sensitivity")
    means = np.array([episodes[i].mean() if i in episodes else np.nan for i in range(len(cells))])
    result: SobolIndices | MorrisEffects
    if design.method == "sobol":
        result = sobol_indices(response, len(design.factors), random).as_shares()
    else:
        result = morris_effects(design.points[kept], response, random)
    nominal = float(_response(clean, clean, question).mean())
    return Finding(design, means, nominal, result, response.shape[1], cells[kept[0]])


def _response(cell: Cell, clean: Cell, question: Question) -> np.ndarray:
    """Returns the response of every episode."""
    metric = question.metric
    if metric == FAILURE:
        return failed_episodes(cell, clean, question.threshold)
    columns = [name for name in cell.manifest["columns"] if name not in ROW_KEYS]
    require_choice("study.metric", metric, [FAILURE, *columns])
    values = cell.column(metric)
    if not np.isfinite(values).all():
        raise UserError(f"`study.metric={metric}` is missing in some episodes; choose a column that all of them have")
    return values
