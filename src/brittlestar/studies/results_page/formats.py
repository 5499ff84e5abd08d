"""Numbers as text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from brittlestar.results.format import bounded, bounded_column, is_missing
from brittlestar.results.load import Row

NAMES = {"success_any": "any step", "success_final": "final step"}


def number(value: Any, sign: str = "") -> str:
    """Writes a number with three digits, and nothing for what is missing.

    Example:
        >>> number(0.98765), number(-31.0456, "+"), number(None), number(2e-16)
        ('0.988', '-31', '', '0')
    """
    if is_missing(value):
        return ""
    # What least squares leave of a flat curve.
    return f"{0.0 if abs(value) < 1e-12 else value:{sign}.3g}"


def bounded_number(row: Row, name: str) -> str:
    """Writes a column with its interval, three digits each; see `number`."""
    return bounded_column(row, name, number)


def points(value: float) -> str:
    """Writes a difference of rates in percentage points.

    Example:
        >>> points(0.405), points(-0.03)
        ('+40.5', '-3.0')
    """
    return f"{100 * value + 0.0:+.1f}"


def difference(row: Mapping[str, Any]) -> str:
    """Writes a difference of rates in points, with its interval; rates cannot differ by more than 1.

    Example:
        >>> difference({"difference": 0.4, "low": -1.2, "high": 0.75})
        '+40.0 [-100.0, +75.0]'
    """
    low, high = max(row["low"], -1.0), min(row["high"], 1.0)
    return bounded(row["difference"], low, high, points)


def percent(value: float) -> str:
    """Writes a rate.

    Example:
        >>> percent(0.9967)
        '99.7 %'
    """
    return f"{100 * value:.1f} %"
