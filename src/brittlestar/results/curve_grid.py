"""One measure of a curve as arrays over strengths, seeds and episodes, to compare it with other curves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from brittlestar.errors import UserError
from brittlestar.results.difference import Sides
from brittlestar.results.load import Cell
from brittlestar.results.ranges import range_of


class CurveGrid:
    """Reads a measure and the start states of all cells of a curve, once; nan where there is no episode."""

    def __init__(self, cells: Sequence[Cell], measure: str) -> None:
        self.measure = measure
        self.strengths = sorted({cell.strength for cell in cells})
        self.seeds = sorted({cell.seed for cell in cells})
        rows = {strength: i for i, strength in enumerate(self.strengths)}
        columns = {seed: j for j, seed in enumerate(self.seeds)}
        shape = len(rows), len(columns)
        self.present, self.lengths = np.zeros(shape, dtype=bool), np.zeros(shape, dtype=np.int64)
        self.backends = np.full(shape, None, dtype=object)
        self.values = self.starts = np.full((*shape, 0), np.nan)
        names = list(cells[0].manifest["columns"])
        wanted = [names.index(measure), names.index("reset_seed")]
        for cell in cells:
            place, own = (rows[cell.strength], columns[cell.seed]), cell.rows()[:, wanted]
            self._widen(len(own))
            self.present[place], self.lengths[place], self.backends[place] = True, len(own), backend_of(cell)
            self.values[place][: len(own)], self.starts[place][: len(own)] = own.T

    def _widen(self, episodes: int) -> None:
        more = episodes - self.values.shape[2]
        if more > 0:
            padding = ((0, 0), (0, 0), (0, more))
            self.values, self.starts = (
                np.pad(array, padding, constant_values=np.nan) for array in (self.values, self.starts)
            )

    def rows_of(self, strengths: Sequence[float]) -> list[int]:
        """Returns the places of strengths."""
        return [self.strengths.index(strength) for strength in strengths]

    def complete_seeds(self, strengths: Sequence[float], side: str) -> list[int]:
        """Returns the seeds that have all of some strengths: a hole would tilt the curve."""
        has_all = np.asarray(self.present[self.rows_of(strengths)].all(axis=0))
        if not has_all.any():
            raise UserError(
                f"no seed of {side} has all of the strengths {list(strengths)}: rerun the missing cells first"
            )
        return [seed for seed, ok in zip(self.seeds, has_all, strict=True) if ok]

    def part(self, array: np.ndarray, strengths: Sequence[float], seeds: Sequence[int]) -> np.ndarray:
        """Returns the part of an array at some strengths and seeds."""
        return array[np.ix_(self.rows_of(strengths), [self.seeds.index(seed) for seed in seeds])]


def backend_of(cell: Cell) -> str:
    """Returns what simulates the environment of a cell."""
    return str(cell.setting("env").get("backend", "gymnasium"))


def grid_sides(a: CurveGrid, b: CurveGrid, names: tuple[str, str] = ("A", "B"), only_paired: bool = False) -> Sides:
    """Returns a measure of two curves at the strengths that both have, over the seeds that have all of them.

    With `only_paired`, the values of curves that do not share their episodes are left out.
    """
    strengths = [strength for strength in a.strengths if strength in set(b.strengths)]
    if not strengths:
        raise UserError(f"{names[0]} and {names[1]} share no strength: sweep both over the same levels")
    seeds = [grid.complete_seeds(strengths, name) for grid, name in zip((a, b), names, strict=True)]
    shared, span = sorted({*seeds[0]} & {*seeds[1]}), range_of(a.measure)
    paired = len(shared) == min(map(len, seeds)) and _share_starts(a, b, strengths, shared)
    if not paired:
        left, right = (
            np.empty((len(strengths), 0, 0)) if only_paired else grid.part(grid.values, strengths, own)
            for grid, own in zip((a, b), seeds, strict=True)
        )
        return Sides(strengths, left, right, False, span)
    episodes = min(a.values.shape[2], b.values.shape[2])
    left, right = (grid.part(grid.values, strengths, shared)[..., :episodes] for grid in (a, b))
    missing = np.isnan(left + right)
    return Sides(strengths, np.where(missing, np.nan, left), np.where(missing, np.nan, right), True, span)


def _share_starts(a: CurveGrid, b: CurveGrid, strengths: list[float], seeds: list[int]) -> bool:
    """Whether all episodes that two curves have in common start in the same state, on the same backend."""
    if (a.part(a.backends, strengths, seeds) != b.part(b.backends, strengths, seeds)).any():
        return False
    episodes = min(a.starts.shape[2], b.starts.shape[2])
    starts = [grid.part(grid.starts, strengths, seeds)[..., :episodes] for grid in (a, b)]
    both = np.minimum(a.part(a.lengths, strengths, seeds), b.part(b.lengths, strengths, seeds))
    return bool(((starts[0] == starts[1]) | (np.arange(episodes) >= both[..., None])).all())
