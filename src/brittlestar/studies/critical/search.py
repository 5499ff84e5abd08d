"""The searches of a sweep for critical levels: which cells of each combination run next."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from brittlestar.cells.job import Job
from brittlestar.errors import UserError
from brittlestar.results.load import Cell
from brittlestar.statistics.placement import Search, SearchState, first_levels, look, next_levels
from brittlestar.statistics.trials import Threshold
from brittlestar.studies.base import Round, Rounds, with_overrides
from brittlestar.studies.critical.outcomes import CurveOutcomes
from brittlestar.studies.critical.ranges import Knob

SEEDS = 10_000
"""Seeds of one search: those of `seed=0` are 0 to 9,999, those of `seed=1` start at 10,000."""
CELL_EPISODES = 25
"""Episodes of a cell, if the command line does not set them."""


@dataclass
class CurveSearch:
    """The search of one combination of overrides."""

    cell: Job
    knob: Knob
    search: Search
    outcomes: CurveOutcomes
    batch: int
    look: SearchState | None = None
    levels: list[float] | None = None
    """Of the next round; empty when the search is over."""
    _count: int = 0

    def next_cells(self) -> list[Job]:
        """Returns the cells of the next round, each with a seed of its own; other combinations have the same seeds."""
        if self.levels is None:
            self.levels = first_levels(self.knob.reach)[: max(self.search.budget // self.batch, 1)]
        first = self.cell.config["seed"] * SEEDS + self._count
        return [
            with_overrides(self.cell, {self.knob.key: self.knob.value(level), "seed": seed, "episodes": self.batch})
            for seed, level in enumerate(self.levels, first)
        ]

    def take(self, cells: list[Cell]) -> None:
        """Takes the cells of a round, and chooses the levels of the next one; a failed cell ends the search."""
        levels, self._count = self.levels or [], self._count + len(cells)
        for cell, level in zip(cells, levels, strict=True):
            if cell.done:
                self.outcomes.add(cell, level)
        self.levels = []
        if all(cell.done for cell in cells):
            self.search = replace(self.search, threshold=Threshold(self.search.threshold.value, self.outcomes.is_share))
            self.look = look(self.outcomes.trials, self.search)
            if self.look.status == "open":
                self.levels = next_levels(self.outcomes.trials, self.search, self.look, self.batch)


def search_rounds(searches: list[CurveSearch]) -> Rounds:
    """Yields rounds with the cells of all searches that are not over."""
    rounds = [(search, search.next_cells()) for search in searches]
    while rounds:
        finished = yield Round([cell for _, cells in rounds for cell in cells], _note(searches, rounds))
        for search, cells in rounds:
            search.take(finished[: len(cells)])
            finished = finished[len(cells) :]
        rounds = [(search, search.next_cells()) for search, _ in rounds if search.levels]


def _note(searches: list[CurveSearch], rounds: list[tuple[CurveSearch, list[Job]]]) -> str:
    """Returns what is known so far, in a line."""
    episodes = sum(search.batch * len(cells) for search, cells in rounds)
    line = f"{episodes:,} episodes"
    if len(searches) > 1:
        line += f" for {len(rounds)} of {len(searches)} curves"
    looks = [search.look for search, _ in rounds if search.look is not None]
    widths = [(seen.interval.high - seen.interval.low) / seen.fit.estimate for seen in looks]
    if widths and max(widths) < float("inf"):
        line += f"; widest interval so far {max(widths):.0%} of its critical level"
    return line


def episodes_of(cell: Job, budget: int) -> int:
    """Returns the episodes of each cell: those of the command line, or few; refuses a budget below one cell."""
    is_named = any(text.lstrip("+").startswith("episodes=") for text in cell.overrides)
    episodes = int(cell.config["episodes"]) if is_named else min(CELL_EPISODES, budget)
    if episodes < 1:
        raise UserError(f"`episodes` must be at least 1, got {episodes}")
    if budget < episodes:
        raise UserError(f"`study.budget` must be at least the {episodes} episodes of one cell, got {budget}")
    return episodes


def refuse_swept(cells: Iterable[Job], keys: set[str]) -> None:
    """Refuses several values of a key that the search itself chooses."""
    values: dict[str, set[str]] = {}
    for cell in cells:
        for text in cell.overrides:
            key, _, value = text.lstrip("+").partition("=")
            if key in keys:
                values.setdefault(key, set()).add(value)
    for key, texts in values.items():
        if len(texts) > 1:
            listed = ",".join(sorted(texts))
            if key == "seed":
                raise UserError(
                    f"`seed={listed}`: a critical search takes one seed, and draws those of its cells from it"
                )
            raise UserError(
                f"`{key}={listed}`: a critical search chooses the values of `{key}` by itself; leave it out"
            )
