"""Two contestants on their shared episodes: who wins, after how many pairs, and who goes on."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from brittlestar.errors import UserError
from brittlestar.statistics.betting import betting_interval
from brittlestar.statistics.intervals import Interval
from brittlestar.statistics.pair_race import Decision, PairRule, decide, interval_path, pairs_left
from brittlestar.statistics.paired_sample_size import mcnemar_pairs, t_pairs
from brittlestar.studies.race.contestants import RaceField

_MOST_ALIKE = 100_000


@dataclass(frozen=True)
class RaceMetric:
    """What is compared: a metric, its range, and which direction is better."""

    metric: str
    low: float
    high: float
    is_event: bool
    sign: int = 1
    """1 if more of it is better, -1 if less."""

    def check(self, values: np.ndarray, name: str) -> None:
        """Refuses a value outside of the range: the error rate would not hold."""
        outside = values[(values < self.low) | (values > self.high)]
        if outside.size:
            raise UserError(
                f"`{self.metric}` of {name} is {outside[0]:.6g} in an episode, outside of "
                f"[{self.low:g}, {self.high:g}]: set `study.range=[LOW,HIGH]` to the least and the greatest value"
            )


@dataclass(frozen=True)
class Duel:
    """Two contestants, by their places in the race; differences are positive where the first is better."""

    first: int
    second: int
    differences: np.ndarray
    rule: PairRule
    decision: Decision
    margin: float
    """A difference within ± this one counts as none."""
    missing: int = 0
    """Pairs that are left out because one side has no value."""

    @property
    def is_alike(self) -> bool:
        """Whether the interval of the difference is within ± the margin, without a winner."""
        low, high = self.decision.interval
        return self.decision.sign == 0 and bool(low > -self.margin and high < self.margin)

    @property
    def is_settled(self) -> bool:
        """Whether more episodes of this pair are of no use."""
        return self.decision.sign != 0 or self.is_alike

    @property
    def used(self) -> np.ndarray:
        """The differences up to the decision."""
        return self.differences[: self.decision.pairs]

    @property
    def wins(self) -> tuple[int, int]:
        """How many pairs each side wins up to the decision."""
        return int((self.used > 0).sum()), int((self.used < 0).sum())

    def path(self) -> tuple[list[int], list[float], list[Interval]]:
        """Returns numbers of pairs, and mean and interval of the difference after each, up to the decision."""
        counts, intervals = interval_path(self.used, self.rule)
        means = [float(self.used[:count].mean()) for count in counts]
        return counts, means, intervals

    def fixed_pairs(self, is_event: bool) -> float:
        """Returns the pairs of a fixed design with 80 % power, if the differences are as they look; inf for none."""
        n, (won, lost) = max(1, len(self.used)), self.wins
        if is_event:
            # Half a pair more on each side: a side without a win may have some.
            return mcnemar_pairs((won + 0.5) / (n + 1), (lost + 0.5) / (n + 1), 2 * self.rule.tail)
        mean = float(self.used.mean()) if self.used.size else 0.0
        return t_pairs(mean, float(self.used.std(ddof=1)), 2 * self.rule.tail) if n > 1 else math.inf

    def pairs_until_alike(self) -> float:
        """Returns about how many further pairs without a difference show that none is above the margin; inf for none.

        It is of use where no pair differs so far.
        """
        if self.is_alike or self.wins != (0, 0) or self.margin <= 0:
            return math.inf
        few, many = len(self.used), max(1, len(self.used))
        while many < _MOST_ALIKE and not self._is_alike_after(many):
            few, many = many, 2 * many
        while many - few > max(1, many // 50):
            middle = (few + many) // 2
            few, many = (few, middle) if self._is_alike_after(middle) else (middle, many)
        return many - len(self.used) if self._is_alike_after(many) else math.inf

    def _is_alike_after(self, pairs: int) -> bool:
        """Whether so many pairs without a difference are enough for a verdict."""
        low, high = betting_interval(np.zeros(pairs), (self.rule.tail, self.rule.tail))
        return bool(max(-low, high) * self.rule.bound < self.margin)

    def pairs_left(self) -> float:
        """Returns about how many further pairs decide it, if the differences are as they look; inf for none."""
        return pairs_left(self.used, self.rule)


def duels_of(field: RaceField, scale: RaceMetric, rule: PairRule, margin: float, reference: int | None) -> list[Duel]:
    """Returns every pair of a race; with a reference, every other contestant against it."""
    field.check_pairing()
    values = [one.values(scale.metric) for one in field.contestants]
    for one, own in zip(field.contestants, values, strict=True):
        scale.check(own, one.name)
    places = range(len(values))
    pairs: Iterable[tuple[int, int]] = itertools.combinations(places, 2)
    if reference is not None:
        pairs = ((i, reference) for i in places if i != reference)
    return [_duel((i, j), values[i], values[j], scale, rule, margin) for i, j in pairs]


def _duel(
    places: tuple[int, int], a: np.ndarray, b: np.ndarray, scale: RaceMetric, rule: PairRule, margin: float
) -> Duel:
    shared = min(len(a), len(b))
    differences = scale.sign * (a[:shared] - b[:shared])
    present = differences[~np.isnan(differences)]
    return Duel(*places, present, rule, decide(present, rule), margin, shared - len(present))


def losers(duels: list[Duel]) -> set[int]:
    """Returns the contestants that lost a pair."""
    return {duel.second if duel.decision.sign > 0 else duel.first for duel in duels if duel.decision.sign}


def runners(field: RaceField, duels: list[Duel], reference: int | None) -> set[int]:
    """Returns the contestants that need more episodes: those of a pair that is open, if neither is out."""
    out = {i for i, one in enumerate(field.contestants) if one.failed}
    out |= losers(duels) if reference is None else set()
    return {i for duel in duels if not duel.is_settled and not out & {duel.first, duel.second} for i in _both(duel)}


def _both(duel: Duel) -> tuple[int, int]:
    return duel.first, duel.second
