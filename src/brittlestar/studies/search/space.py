"""What a search varies: the strengths of the parts of a composition, and other numbers within ranges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from brittlestar.config.build import build
from brittlestar.errors import UserError, nearest
from brittlestar.studies.factors import Factor, check_ends, read_factors, short_number, takes_whole

PARTS = "perturbation.parts."
_MOST_DOUBLINGS = 5
"""Without a range, a strength reaches up to 32 times its value in the config."""
OFF = 0.02
"""A part below this share of its critical level is off: so little of it may never act in some episodes."""


@dataclass(frozen=True)
class Strength:
    """The strength of a part, from 0 up (or down) to `end`."""

    part: str
    key: str
    end: float
    whole: bool

    def value(self, amount: float) -> float:
        """Returns an amount, which is at least 0, as a value of the key."""
        signed = min(amount, abs(self.end)) * np.sign(self.end)
        return round(signed) if self.whole else short_number(float(signed))


@dataclass(frozen=True)
class SearchSpace:
    """The strengths of a composition in units of their critical levels, and other factors as shares of their range.

    A point is an array: the strengths, then the other factors.
    """

    strengths: list[Strength]
    others: list[Factor]
    units: np.ndarray

    @property
    def size(self) -> int:
        """The number of things that vary."""
        return len(self.strengths) + len(self.others)

    @property
    def steps(self) -> np.ndarray:
        """The distance of neighbouring values of each coordinate; 0 for numbers that are not whole."""
        own = [1 / unit if s.whole else 0.0 for s, unit in zip(self.strengths, self.units, strict=True)]
        return np.array(own + [1 / (f.high - f.low) if f.whole else 0.0 for f in self.others])

    def values(self, point: np.ndarray) -> dict[str, float]:
        """Returns the values of the config at a point; a part with next to no strength is off."""
        amounts = np.where(point[: len(self.strengths)] < OFF, 0.0, point[: len(self.strengths)]) * self.units
        own = {s.key: s.value(amount) for s, amount in zip(self.strengths, amounts, strict=True)}
        return own | {f.key: f.value(share) for f, share in zip(self.others, point[len(amounts) :], strict=True)}

    def shares(self, values: dict[str, float]) -> np.ndarray:
        """Returns the strengths of some values in units of their critical levels."""
        return np.abs([values[s.key] for s in self.strengths]) / self.units

    def distance(self, values: dict[str, float]) -> float:
        """Returns how far values are from nominal: 1 is the critical level of one part alone."""
        return float(np.linalg.norm(self.shares(values)))


def search_space(config: dict[str, Any], ranges: Sequence[Sequence[Any]], units: dict[str, float]) -> SearchSpace:
    """Returns what the composition of a config lets vary; units that are not given are nan."""
    parts = config["perturbation"].get("parts")
    if not isinstance(parts, dict) or not parts:
        raise UserError(
            "a search varies the parts of a composition: choose them by "
            "`'perturbation=[gaussian_observation,delayed_action]'`"
        )
    factors = {factor.key: factor for factor in read_factors(config, ranges)}
    strengths = [_strength(name, node, factors) for name, node in parts.items()]
    for name in units:
        if name not in parts:
            raise UserError(f"`study.units.{name}` does not exist; {nearest(name, parts)}")
    for key in factors:
        if not key.startswith(PARTS):
            raise UserError(f"`{key}`: a search varies parameters of the perturbation; `hydra/sweeper=sensitivity` any")
    own = {strength.key for strength in strengths}
    others = [factor for key, factor in factors.items() if key not in own]
    check_ends(config, others)
    if len(strengths) + len(others) < 2:
        raise UserError(
            "a search varies two strengths or more; `hydra/sweeper=critical` finds the critical level of one"
        )
    return SearchSpace(strengths, others, np.array([_unit(strength, units) for strength in strengths]))


def _strength(name: str, node: dict[str, Any], factors: dict[str, Factor]) -> Strength:
    where = f"{PARTS}{name}"
    part = build(node, where)
    while part.strength_field is None and hasattr(part, "perturbation"):
        # A part on a schedule of its own has the strength inside.
        node, part, where = node["perturbation"], part.perturbation, f"{where}.perturbation"
    if part.strength_field is None:
        raise UserError(f"`{where}` ({type(part).__name__}) has no strength that a search could vary: leave it out")
    key = f"{where}.{part.strength_field}"
    if key in factors:
        factor = factors[key]
        if factor.low and factor.high:
            span = f"interval({factor.low:g},{factor.high:g})"
            raise UserError(f"`{key}={span}`: 0 is the nominal strength, so one end of its range must be 0")
        return _checked(node, where, Strength(name, key, factor.high or factor.low, factor.whole))
    value = node[part.strength_field]
    if not value:
        raise UserError(f"`{key}` is 0, which gives no range: add `{key}=interval(0,HIGH)`")
    ends = [value * 2**doublings for doublings in range(_MOST_DOUBLINGS + 1)]
    end = next(end for end in reversed(ends) if end == value or _fits(node, where, part.strength_field, end))
    return Strength(name, key, float(end), takes_whole(node, part.strength_field, where))


def _checked(node: dict[str, Any], where: str, strength: Strength) -> Strength:
    build(node | {strength.key.rpartition(".")[2]: strength.value(abs(strength.end))}, where)
    return strength


def _fits(node: dict[str, Any], where: str, field: str, value: float) -> bool:
    try:
        build(node | {field: value}, where)
    except UserError:
        return False
    return True


def _unit(strength: Strength, units: dict[str, float]) -> float:
    unit = units.get(strength.part)
    if unit is None:
        return float("nan")
    if not 0 < abs(unit) <= abs(strength.end):
        end = f"{strength.end:g}"
        raise UserError(f"`study.units.{strength.part}` must be above 0 and within the range up to {end}, got {unit:g}")
    return float(max(1, round(abs(unit))) if strength.whole else abs(unit))
