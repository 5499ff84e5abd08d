"""Differences of critical levels between curves of one sweep, paired by the episodes that they share."""

from __future__ import annotations

import itertools
import math

import numpy as np

from brittlestar.results.format import bounded_column, markdown
from brittlestar.results.load import Row
from brittlestar.statistics.crossing_design import Estimate, paired_difference
from brittlestar.studies.critical.curves import LEVEL_STYLE, CriticalCurve

CROSSING_DIFFERENCE_METHODS = [
    "Difference of two critical levels: from both intervals and the correlation of the episodes with the same seed and "
    "number (MOVER). Each has 95 % by itself.",
]


def crossing_difference_rows(curves: list[CriticalCurve]) -> list[Row]:
    """Returns a row for each pair of curves on the same key that differ in one thing."""
    rows = []
    for first, second in itertools.combinations(curves, 2):
        differing = [name for name in first.label if first.label[name] != second.label[name]]
        groups = {name.partition(".")[0] for name in differing}
        if len(groups) != 1 or "perturbation" in groups or first.key != second.key or first.sign != second.sign:
            continue
        if first.estimate is not None and second.estimate is not None:
            rows.append(_row(first, second, first.estimate, second.estimate))
    return rows


def _row(first: CriticalCurve, second: CriticalCurve, a: Estimate, b: Estimate) -> Row:
    correlation, pairs = _correlation(first, second)
    value, low, high = paired_difference(a, b, correlation)
    if first.sign < 0:
        value, low, high = -value, -high, -low
    verdict = "not decided"
    if low > 0 or high < 0:
        verdict = f"{(first if (value > 0) == (first.sign > 0) else second).name} tolerates more"
    return {
        "first": first.name, "second": second.name, "difference": value, "difference_low": low,
        "difference_high": high, "correlation": correlation, "shared_episodes": pairs, "verdict": verdict,
    }  # fmt: skip


def _correlation(first: CriticalCurve, second: CriticalCurve) -> tuple[float, int]:
    """Returns the correlation of two estimates through episodes with the same seed and number, and their count."""
    moves, others = first.moves(), second.moves()
    shared, pairs = 0.0, 0
    for seed in moves.keys() & others.keys():
        count = min(len(moves[seed]), len(others[seed]))
        shared += float(moves[seed][:count] @ others[seed][:count])
        pairs += count
    sizes = [sum(float(part @ part) for part in side.values()) for side in (moves, others)]
    product = math.sqrt(sizes[0] * sizes[1])
    return float(np.clip(shared / product, -1, 1)) if product > 0 else 0.0, pairs


def crossing_differences_table(rows: list[Row]) -> str:
    """Writes the differences as Markdown."""
    shown = [
        {
            "curves": f"{row['first']} − {row['second']}",
            "difference": bounded_column(row, "difference", LEVEL_STYLE),
            "shared episodes": row["shared_episodes"],
            "verdict": row["verdict"],
        }
        for row in rows
    ]
    return markdown(shown, shown[0])
