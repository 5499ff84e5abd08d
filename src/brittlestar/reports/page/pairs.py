"""Paired differences of curves for a page: the numbers that `brittlestar compare` gives."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterable, Sequence
from typing import Any

from brittlestar.errors import UserError
from brittlestar.reports.page.numbers import finite
from brittlestar.results.compare import Comparison, check_axes, compare_values, verdict
from brittlestar.results.curve_grid import CurveGrid, grid_sides
from brittlestar.results.difference import Sides, is_decided
from brittlestar.results.load import Cell
from brittlestar.results.packed_cells import PackedCells, pack_cells

MOST_COMPARED = 600
"""Levels that are compared, over all pairs and metrics; each takes one to six milliseconds."""
_SMALL_LEVEL = 500
"""Episodes of a level that takes no longer than a small one."""
_GROWTH = 1.7
"""Measured: 1,000 episodes take 5 ms, 5,000 take 100 ms, 10,000 take 200 ms."""
_COLUMNS = ("strength", "a", "b", "difference", "low", "high", "p", "p_holm", "n_a")


def pairs_data(every: Sequence[Iterable[Cell]], names: Sequence[str], metrics: Sequence[str]) -> dict[str, Any]:
    """Compares all pairs of curves on the same episodes, within a budget: the first metric of all pairs comes first.

    Where pairs are too many, those with the first curve come first. `all` is whether no pair was left out.
    """
    curves = [pack_cells(cells) for cells in every]
    strengths = [{cell.strength for cell in cells.kinds()} for cells in curves]
    costs = [_cost(cells) for cells in curves]
    pairs = [pair for pair in itertools.combinations(range(len(curves)), 2) if _overlap(*(strengths[i] for i in pair))]
    budget, left_out, found = float(MOST_COMPARED), 0, list[dict[str, Any]]()
    for measure in metrics:
        grids = _Grids(curves, measure)
        for i, j in list(pairs):
            cost = len(strengths[i] & strengths[j]) * costs[i]
            if cost > budget and found:
                left_out += 1
                continue
            sides = grids.sides(i, j)
            if sides is None:
                # It is so for every other metric.
                pairs.remove((i, j))
                continue
            with contextlib.suppress(UserError):
                comparison = compare_values(sides, (names[i], names[j]), measure)
                budget -= cost
                found.append({"a": i, "b": j} | pair_json(comparison))
    return {"pairs": found, "left_out": left_out}


def _overlap(a: set[float], b: set[float]) -> bool:
    """Whether two curves can be compared; two directions of a sweep share strength 0 alone."""
    return bool(a & b) and not (a & b == {0.0} and len(a | b) > 1)


def _cost(every: Iterable[Cell]) -> float:
    """Returns what a level takes, in units of a small one: the tests take longer where episodes are many."""
    cells = pack_cells(every)
    levels = len({cell.strength for cell in cells.kinds()})
    counts = cells.groups(lambda cell: int(cell.setting("episodes") or 0))
    episodes = sum(episodes * len(members) for episodes, members in counts.items()) / levels
    return float(max(1.0, episodes / _SMALL_LEVEL) ** _GROWTH)


class _Grids:
    """One measure of the curves, each read when it is first compared."""

    def __init__(self, curves: Sequence[PackedCells], measure: str) -> None:
        self._curves, self._measure = curves, measure
        self._grids: dict[int, CurveGrid] = {}

    def sides(self, i: int, j: int) -> Sides | None:
        """Returns the values of two curves; None if they do not share their episodes."""
        try:
            check_axes(self._curves[i], self._curves[j], self._measure)
            sides = grid_sides(self._grid(i), self._grid(j), only_paired=True)
        except UserError:
            return None
        return sides if sides.paired else None

    def _grid(self, i: int) -> CurveGrid:
        if i not in self._grids:
            self._grids[i] = CurveGrid(self._curves[i], self._measure)
        return self._grids[i]


def pair_json(comparison: Comparison) -> dict[str, Any]:
    """Returns a comparison as JSON values: its levels by column, which of them are decided, and the whole curve."""
    rows: list[dict[str, Any]] = [{**row} for row in comparison.levels]
    return {
        "measure": comparison.measure,
        "levels": {name: finite(row[name] for row in rows) for name in _COLUMNS},
        "decided": [is_decided(row) for row in rows],
        "methods": [row["method"] for row in rows],
        "over": dict(comparison.curve),
        "verdict": verdict(comparison),
    }
