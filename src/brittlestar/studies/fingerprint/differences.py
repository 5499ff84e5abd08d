"""Which of two policies tolerates more on each axis of a fingerprint, from the episodes that they share."""

from __future__ import annotations

import itertools
import math

from brittlestar.results.format import bounded_column, markdown
from brittlestar.results.load import Row
from brittlestar.statistics.arrays import special
from brittlestar.statistics.hypothesis_tests import SIGNIFICANCE, holm
from brittlestar.statistics.intervals import LEVEL
from brittlestar.studies.critical.curves import LEVEL_STYLE, CriticalCurve
from brittlestar.studies.critical.differences import crossing_difference_rows
from brittlestar.studies.fingerprint.axes import FingerprintAxis
from brittlestar.studies.fingerprint.ranking import Print, shares

AXIS_DIFFERENCE_METHODS = [
    "Policies are compared axis by axis, from both intervals and the correlation of the episodes with the same seed "
    "and number (MOVER). Each interval has 95 % by itself; the verdicts hold together, because p is adjusted for all "
    "axes and pairs of policies (Holm). Where a policy has no critical level, the intervals must not overlap.",
]
_OPEN, _SAME = "not decided", "neither breaks"
_LEAST_P = 0.0001


def axis_difference_rows(prints: dict[str, Print], axes: list[FingerprintAxis]) -> list[Row]:
    """Returns a row for each pair of policies and each axis that both have."""
    rows = [
        {"first": first, "second": second, "axis": axis.name, "unit": axis.unit}
        | _compared(prints[first][axis.name], prints[second][axis.name], axis, (first, second))
        for first, second in itertools.combinations(prints, 2)
        for axis in axes
        if axis.name in prints[first] and axis.name in prints[second]
    ]
    for row, adjusted in zip(rows, holm([row["p"] for row in rows]).tolist(), strict=True):
        row["p_holm"] = adjusted
        if adjusted >= SIGNIFICANCE:
            row["tolerates_more"] = _OPEN
    return rows


def _compared(a: CriticalCurve, b: CriticalCurve, axis: FingerprintAxis, names: tuple[str, str]) -> Row:
    """Compares two curves of an axis, in its unit; a positive difference means that the first holds more."""
    found = crossing_difference_rows([a, b])
    if not found:
        nothing = {"difference": math.nan, "difference_low": math.nan, "difference_high": math.nan, "p": math.nan}
        return nothing | {"tolerates_more": _apart(a, b, axis, names)}
    factor = (100 if axis.is_percentage else 1) * a.sign
    low, high = sorted(factor * found[0][f"difference_{end}"] for end in ("low", "high"))
    value = factor * found[0]["difference"]
    numbers = {"difference": value, "difference_low": low, "difference_high": high}
    return numbers | {"p": _p_value(value, low, high), "tolerates_more": names[0 if value > 0 else 1]}


def _apart(a: CriticalCurve, b: CriticalCurve, axis: FingerprintAxis, names: tuple[str, str]) -> str:
    """Returns who tolerates more, where at least one of two curves has no critical level."""
    first, second = shares(a, axis)[1], shares(b, axis)[1]
    if a.look.status == b.look.status == "robust":
        return _SAME
    return names[0] if first.low >= second.high else names[1] if second.low >= first.high else _OPEN


def _p_value(value: float, low: float, high: float) -> float:
    """Returns the two-sided p value of a difference from its interval, by the half on the side of 0."""
    half = value - low if value > 0 else high - value
    z = -float(special().ndtri((1 - LEVEL) / 2))
    return 2 * float(special().ndtr(-z * abs(value) / half)) if half > 0 else float(value == 0)


def axis_differences_table(rows: list[Row]) -> str:
    """Writes the differences as Markdown, a table for each pair of policies."""
    tables = []
    for (first, second), own in itertools.groupby(rows, key=lambda row: (row["first"], row["second"])):
        gap = f"{first} − {second}"
        shown = [
            {
                "axis": row["axis"],
                gap: bounded_column(row, "difference", f"+{LEVEL_STYLE}"),
                "unit": row["unit"],
                "p (Holm)": _p_text(row["p_holm"]),
                "tolerates more": row["tolerates_more"],
            }
            for row in own
        ]
        tables.append(markdown(shown, shown[0]))
    return "\n\n".join(tables)


def _p_text(p: float) -> str:
    return "" if math.isnan(p) else f"{p:.2g}" if p >= _LEAST_P else f"< {_LEAST_P:g}"
