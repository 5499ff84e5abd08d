"""A race as it ended."""

from __future__ import annotations

from dataclasses import dataclass

from brittlestar.errors import counted
from brittlestar.results.format import bounded
from brittlestar.studies.race.contestants import RaceField
from brittlestar.studies.race.duels import Duel, RaceMetric, losers


@dataclass(frozen=True)
class FinishedRace:
    """A race as it ended: its contestants and the result of every pair."""

    field: RaceField
    scale: RaceMetric
    duels: list[Duel]
    reference: str | None

    def names(self, duel: Duel) -> tuple[str, str]:
        """Returns the names of both sides of a pair."""
        return self.field.contestants[duel.first].name, self.field.contestants[duel.second].name

    def difference(self, duel: Duel) -> tuple[float, float, float]:
        """Returns the difference of a pair with its interval, first minus second, in the unit of the metric."""
        difference, (low, high) = duel.decision.difference, map(float, duel.decision.interval)
        return (difference, low, high) if self.scale.sign > 0 else (-difference, -high, -low)

    def state(self, duel: Duel) -> str:
        """Returns the difference of a pair so far, for a line of the terminal."""
        gap = bounded(*self.difference(duel), "+.2g")
        return f"{' minus '.join(self.names(duel))} is {gap} after {counted(duel.decision.pairs, 'pair')}"

    @property
    def beaten(self) -> set[int]:
        """Places of the contestants that lost a pair."""
        return losers(self.duels)

    @property
    def winner(self) -> str | None:
        """The only contestant that is left, if it or another one has beaten the others; None without one."""
        is_won = self.reference is None and len(self.left) == 1 and bool(self.beaten)
        return self.field.contestants[self.left[0]].name if is_won else None

    @property
    def left(self) -> list[int]:
        """Places of the contestants that neither lost nor failed."""
        return [i for i, one in enumerate(self.field.contestants) if i not in self.beaten and not one.failed]
