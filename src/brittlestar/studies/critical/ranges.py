"""The key that a critical search varies, and the range of its values, from the config of a cell."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from brittlestar.cells.identity import NEUTRAL
from brittlestar.cells.job import Job
from brittlestar.config.build import build
from brittlestar.errors import UserError, nearest, shortened
from brittlestar.results.load import Cell
from brittlestar.statistics.intervals import Interval
from brittlestar.statistics.placement import Reach
from brittlestar.studies.factors import with_names

DOUBLINGS = 6
"""Without a range, the search ends at 2^6 times the strength of the config."""
_GROUP = "perturbation"
_ROUNDING = 1e-3
"""Levels have four digits."""


@dataclass(frozen=True)
class Knob:
    """A key of the config, the sign of its values, and how far they may go from 0."""

    key: str
    sign: int
    reach: Reach

    def value(self, level: float) -> float | int:
        """Returns the value of the key at a level."""
        return self.sign * (int(level) if self.reach.whole else level)


def knob_of(cell: Job, key: str | None, limits: list[float] | None) -> Knob:
    """Returns the key to vary and its range; refuses a key without a number, and a range that cannot be built.

    Args:
        cell: one combination of the sweep.
        key: dotted; None is the strength of the perturbation.
        limits: lowest and highest value; None doubles the value of the config until the perturbation refuses it.
    """
    if key is not None and key.partition(".")[0] in (*NEUTRAL, "seed", "episodes", "episode_seeds"):
        raise UserError(f"`study.key={key}` changes no cell, or is chosen by the search; take a key such as a strength")
    key = with_names(cell.config, key) if key else _strength_key(cell)
    number = _number(cell, key)
    whole = isinstance(number, int)
    if limits is not None:
        return _limited(cell, key, limits, whole)
    if number == 0:
        raise UserError(f"`{key}` is 0: set a first value to try, or `study.range=[0,MAXIMUM]`")
    sign = 1 if number > 0 else -1
    most = _largest(cell, key, sign, abs(float(number)))
    return Knob(key, sign, Reach(abs(float(number)), math.floor(most) if whole else most, whole=whole))


def _limited(cell: Job, key: str, limits: list[float], whole: bool) -> Knob:
    if len(limits) != 2 or not all(isinstance(end, int | float) and math.isfinite(end) for end in limits):
        raise UserError(f"`study.range` must be two numbers, got {limits}")
    nominal, end = limits
    if nominal != 0 or end == 0:
        raise UserError(f"`study.range` must go from 0, the value without perturbation, to another one, got {limits}")
    if whole and end != round(end):
        raise UserError(f"`study.range`: `{key}` takes whole numbers, got {limits}")
    _check(cell, key, end)
    return Knob(key, 1 if end > 0 else -1, Reach(abs(end) / 4, abs(float(end)), whole))


def _strength_key(cell: Job) -> str:
    field = build(cell.config[_GROUP], _GROUP).strength_field
    if field is None:
        name = cell.choices.get(_GROUP)
        raise UserError(f"`{_GROUP}={name}` has no strength to vary: choose another one, or set `study.key`")
    return f"{_GROUP}.{field}"


def _number(cell: Job, key: str) -> float | int:
    node: Any = cell.config
    for part in key.split("."):
        if isinstance(node, dict) and part in node:
            node = node[part]
        elif isinstance(node, list) and part.isdigit() and int(part) < len(node):
            node = node[int(part)]
        else:
            valid = node if isinstance(node, dict) else ()
            raise UserError(f"`study.key={key}`: the config has no `{part}` there; {nearest(part, valid)}")
    if isinstance(node, bool) or not isinstance(node, int | float):
        raise UserError(f"`study.key={key}` must name a number, got {shortened(repr(node), 60)}")
    return node


def _largest(cell: Job, key: str, sign: int, start: float) -> float:
    """Returns the largest of all values up to some doublings that the perturbation takes."""
    low = high = start
    for _ in range(DOUBLINGS):
        low, high = high, 2 * high
        if not _is_valid(cell, key, sign * high):
            break
    else:
        return high
    return _bound(cell, key, sign, (low, high))


def cut_to_bound(cell: Job | Cell, key: str, sign: int, interval: Interval, most: float) -> Interval:
    """Returns an interval that ends where the perturbation refuses larger values; `most` is one that it takes."""
    if not most < interval.high < math.inf:
        return interval
    inside, beyond = (_is_valid(cell, key, sign * value) for value in (most, float(interval.high)))
    if beyond or not inside:
        return interval
    return Interval(interval.low, _bound(cell, key, sign, (most, float(interval.high))))


def is_range_end(cell: Cell, key: str, sign: int, levels: np.ndarray, farthest: float) -> bool:
    """Whether the largest level is the end of the range: so many times the first one, or the bound of its values."""
    top, above_zero = float(levels.max()), levels[levels > 0]
    if not above_zero.size:
        return False
    # The lowest level is half of the first one, or 1 step.
    first = float(above_zero.min()) * (1 if float(above_zero.min()).is_integer() else 2)
    return top >= farthest * first * (1 - _ROUNDING) or not _is_valid(cell, key, sign * top * (1 + _ROUNDING))


def _bound(cell: Job | Cell, key: str, sign: int, ends: tuple[float, float]) -> float:
    """Returns the largest value that the perturbation takes, between one that it takes and one that it refuses."""
    low, high = ends
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if _is_valid(cell, key, sign * middle) else (low, middle)
    # A bound such as 1 is valid itself, or every number below it is.
    bound = round(high, 9)
    return bound if _is_valid(cell, key, sign * bound) else float(f"{low * 0.999:.3g}")


def _is_valid(cell: Job | Cell, key: str, value: float) -> bool:
    try:
        _check(cell, key, value)
    except UserError:
        return False
    return True


def _check(cell: Job | Cell, key: str, value: float | int) -> None:
    """Raises a `UserError` if the perturbation refuses a value of one of its keys."""
    group, _, inner = key.partition(".")
    if group != _GROUP or "." in inner:
        return
    node = cell.config[_GROUP]
    whole = isinstance(node[inner], int)
    build(node | {inner: round(value) if whole else value}, _GROUP)
