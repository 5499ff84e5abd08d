"""Paired differences of curves for a page: the numbers that `brittlestar compare` gives."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from brittlestar.errors import UserError
from brittlestar.reports.page.numbers import finite
from brittlestar.results.compare import Comparison, compare_values, shared_values, verdict
from brittlestar.results.difference import is_decided
from brittlestar.results.load import Cell

MOST_COMPARED = 600
"""Levels that are compared, over all pairs and metrics; each takes one to six milliseconds."""
_COLUMNS = ("strength", "a", "b", "difference", "low", "high", "p", "p_holm", "n_a")


def pairs_data(curves: Sequence[list[Cell]], names: Sequence[str], metrics: Sequence[str]) -> dict[str, Any]:
    """Compares all pairs of curves on the same episodes, within a budget: the first metric of all pairs comes first.

    Where pairs are too many, those with the first curve come first. `all` is whether no pair was left out.
    """
    strengths = [{cell.strength for cell in cells} for cells in curves]
    budget, left_out, found = MOST_COMPARED, 0, list[dict[str, Any]]()
    for measure in metrics:
        for i, j in itertools.combinations(range(len(curves)), 2):
            shared = strengths[i] & strengths[j]
            # Two directions of a sweep share strength 0 alone.
            if not shared or (shared == {0.0} and len(strengths[i] | strengths[j]) > 1):
                continue
            if len(shared) > budget:
                left_out += 1
                continue
            comparison = _compare(curves[i], curves[j], (names[i], names[j]), measure)
            if comparison is not None:
                budget -= len(shared)
                found.append({"a": i, "b": j} | pair_json(comparison))
    return {"pairs": found, "left_out": left_out}


def _compare(a: list[Cell], b: list[Cell], names: tuple[str, str], measure: str) -> Comparison | None:
    """Returns the comparison of two curves; None if they do not share their episodes, or have no values."""
    try:
        sides = shared_values(a, b, measure)
        return compare_values(sides, names, measure) if sides.paired else None
    except UserError:
        return None


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
