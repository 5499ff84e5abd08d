"""Factors: keys of the config with a range, from `key=interval(low,high)`."""

from __future__ import annotations

import math
import typing
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from brittlestar.cells.identity import NEUTRAL
from brittlestar.config import GROUPS
from brittlestar.config.build import build, flat, locate
from brittlestar.errors import UserError, nearest

_BUILT = ("perturbation", "mitigation", "stress_schedule")
"""Groups whose parts are cheap to build."""
_DIGITS = 5
"""Significant digits of the values of a trial."""


@dataclass(frozen=True)
class Factor:
    """A number of the config that a study varies within a range.

    Example:
        >>> delay = Factor("perturbation.delay_steps", 0, 4, whole=True)
        >>> [delay.value(share) for share in (0, 0.3, 1)], delay.name
        ([0, 1, 4], 'delay_steps')
    """

    key: str
    low: float
    high: float
    whole: bool = False

    @property
    def name(self) -> str:
        """The key without what all keys of its group have in common."""
        key = self.key.lstrip("+")
        for start in ("perturbation.parts.", "mitigation.parts.", "perturbation."):
            key = key.removeprefix(start)
        return key

    def value(self, share: float) -> float:
        """Returns the value at a share of the range, a whole number where the key takes no other."""
        value = self.low + min(max(share, 0.0), 1.0) * (self.high - self.low)
        return round(value) if self.whole else short_number(value)

    def cell_of(self, share: float) -> float:
        """Returns the value of a uniform draw from [0, 1): all whole numbers of the range are equally likely."""
        if not self.whole:
            return self.value(share)
        return int(min(self.low + math.floor(share * (self.high - self.low + 1)), self.high))


def short_number(value: float) -> float:
    """Returns a number that is short to read, and never -0."""
    return float(f"{value:.{_DIGITS}g}") + 0.0


def read_factors(config: dict[str, Any], ranges: Sequence[Sequence[Any]]) -> list[Factor]:
    """Returns the factors of `study.ranges` in a composed config; raises a `UserError` for a range that is none."""
    for row in ranges:
        if len(row) != 3 or not isinstance(row[0], str) or not all(map(_is_number, row[1:])):
            raise UserError(f"`study.ranges`: a row is [KEY, LOW, HIGH] with two numbers, got {list(row)}")
    return [_read(config, *row) for row in ranges]


def with_names(config: dict[str, Any], key: str) -> str:
    """Returns a dotted key with the names of parts in place of their numbers, counted from 0.

    Example:
        >>> config = {"perturbation": {"parts": {"fog": {"amount": 1}, "push": {"force": 2}}}}
        >>> with_names(config, "perturbation.parts.1.force"), with_names(config, "perturbation.parts.2.force")
        ('perturbation.parts.push.force', 'perturbation.parts.2.force')
    """
    node: Any = config
    names: list[str] = []
    for name in key.split("."):
        parts = list(node) if isinstance(node, dict) else []
        is_place = name not in parts and name.isdecimal() and int(name) < len(parts) and names[-1:] == ["parts"]
        names.append(parts[int(name)] if is_place else name)
        node = node.get(names[-1]) if isinstance(node, dict) else None
    return ".".join(names)


def _read(config: dict[str, Any], key: str, low: float, high: float) -> Factor:
    text = f"`{key}=interval({low:g},{high:g})`"
    key = with_names(config, key)
    plain = key.lstrip("+")
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise UserError(f"{text}: the range is empty; its first end must be finite and below its second")
    top = plain.partition(".")[0]
    if plain in GROUPS:
        raise UserError(f"{text}: `{plain}` takes the name of an option, not a number")
    if top in (*NEUTRAL, "seed", "episodes", "episode_seeds"):
        raise UserError(
            f"{text}: `{plain}` is no factor: it changes no cell, or is the same for all cells of the study"
        )
    values = dict(flat(config))
    if plain not in values:
        if key.startswith("+"):
            return Factor(key, low, high)
        raise UserError(f"{text}: `{plain}` does not exist; {nearest(plain, _numbers(values))}")
    owner, _, name = plain.rpartition(".")
    node = values.get(owner, config)
    if not _is_number(values[plain]) and not (values[plain] is None and _field_types(node, name, owner) & {int, float}):
        raise UserError(f"{text}: `{plain}` is not a number, but {values[plain]!r}")
    whole = takes_whole(node, name, owner)
    if whole and (low != round(low) or high != round(high)):
        raise UserError(f"{text}: `{plain}` takes whole numbers, so the ends of its range must be whole")
    return Factor(key, low, high, whole)


def check_ends(config: dict[str, Any], factors: Sequence[Factor]) -> None:
    """Raises a `UserError` if a part of the config refuses one end of the range of a factor."""
    values = dict(flat(config))
    for factor in factors:
        owner, _, name = factor.key.lstrip("+").rpartition(".")
        node = values.get(owner)
        if owner.partition(".")[0] in _BUILT and isinstance(node, dict) and "_target_" in node:
            for share in (0.0, 1.0):
                build(node | {name: factor.value(share)}, owner)


def _numbers(values: dict[str, Any]) -> list[str]:
    return [key for key, value in values.items() if _is_number(value) and key.partition(".")[0] not in NEUTRAL]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def takes_whole(node: Any, name: str, where: str) -> bool:
    """Whether a key of a config node takes whole numbers only: the type of its field decides, else its value.

    Example:
        >>> takes_whole({"_target_": "brittlestar.perturbations.DelayedAction", "delay_steps": 2}, "delay_steps", "")
        True
    """
    if "_target_" in node:
        return _field_types(node, name, where) & {int, float} == {int}
    return isinstance(node[name], int)


def _field_types(node: Any, name: str, where: str) -> set[Any]:
    """Returns the types that a field of the class of a config node takes."""
    if "_target_" not in node:
        return set()
    hint = typing.get_type_hints(locate(node["_target_"], where)).get(name)
    return {hint, *typing.get_args(hint)}
