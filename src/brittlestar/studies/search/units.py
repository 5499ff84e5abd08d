"""The critical level of a part alone, by bisection on the shared episodes: the unit of a search."""

from __future__ import annotations

from collections.abc import Generator
from typing import NamedTuple

from brittlestar.studies.search.space import Strength

MOST_LEVELS = 10
"""Levels that are tried at most."""
_WIDTH = 0.1
"""The bisection ends when the bracket is so small a share of the critical level."""


class Unit(NamedTuple):
    """The smallest strength of a part that was seen to break the policy, without its sign."""

    size: float
    breaks: bool
    """Whether it breaks the policy; else the unit is the end of the range."""


def bisect(strength: Strength, target: float) -> Generator[float, float | None, Unit]:
    """Yields amounts of one part, receives the share of failed episodes (None for a cell that failed)."""
    size, low = abs(strength.end), 0.0
    share = yield size
    if share is None or share < target:
        return Unit(size, False)
    for _ in range(MOST_LEVELS - 1):
        middle = _middle(strength, low, size)
        if not low < middle < size:
            break
        share = yield middle
        if share is not None and share >= target:
            size = middle
        else:
            low = middle
        if size - low <= _WIDTH * size:
            break
    return Unit(size, True)


def _middle(strength: Strength, low: float, high: float) -> float:
    # The order of magnitude comes first.
    middle = (low + high) / 2 if low else high / 4
    if strength.whole:
        middle = max(1, round(middle)) if low == 0 else round(middle)
    return abs(strength.value(middle))
