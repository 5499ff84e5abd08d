"""The course of a search: clean episodes, units, optimiser beside random draws, selection, confirmation."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from brittlestar.cells.job import Job
from brittlestar.results.load import Cell
from brittlestar.statistics.intervals import wilson
from brittlestar.studies.broken_episodes import failed_episodes
from brittlestar.studies.cell_plans import CellPlan, NextCell, plans_together
from brittlestar.studies.search.optimiser import Points, draw_at_random, optimise
from brittlestar.studies.search.space import SearchSpace
from brittlestar.studies.search.units import MOST_LEVELS, Unit, bisect

BREAKING_SHARE = 0.5
"""A point breaks the policy if so large a share of its episodes fails."""
NOMINAL, SEARCH, RANDOM = "nominal", "search", "random"
SCALE = "perturbation.scale"
_FRESH = 1_000_000
"""Seeds of selection and confirmation are so far from that of the search."""
_NEAREST = 6
_SURE = 0.99
"""Confidence of the selection: the nearest of several candidates passes by chance more often than one."""
_FARTHER = (1.05, 1.1, 1.2, 1.35, 1.5)
"""Selection also looks at the nearest point with all strengths increased, because it may fail by chance."""


@dataclass(frozen=True)
class Tried:
    """A point of a search, and the share of its episodes that failed; None for a cell that failed."""

    values: dict[str, float]
    distance: float
    share: float | None


@dataclass(frozen=True)
class Confirmed:
    """What a search, or random draws, found: the share of failures on seeds that no choice has seen."""

    found: Tried
    share: float
    episodes: int
    cell: Cell

    @property
    def interval(self) -> tuple[float, float]:
        """The Wilson interval of the share of failures."""
        low, high = wilson(round(self.share * self.episodes), self.episodes)
        return float(low), float(high)


@dataclass
class SearchOutcome:
    """All of a search; what it did not come to is None."""

    space: SearchSpace
    clean: Cell
    clean_share: float = 0.0
    refusals: list[str] = field(default_factory=list)
    """Why parts do not run alone."""
    units: list[Unit] = field(default_factory=list)
    tried: dict[str, list[Tried]] = field(default_factory=dict)
    found: dict[str, Confirmed | None] = field(default_factory=dict)
    """By `search` and `random`."""

    @property
    def is_incapable(self) -> bool:
        """Whether the policy fails without any perturbation."""
        return self.clean_share >= BREAKING_SHARE


class Settings(NamedTuple):
    """The settings of all searches of a sweep, see `study.SmallestFailure`."""

    budget: int
    confirm: int
    threshold: float


class Course(NamedTuple):
    """One search: where it runs, and its settings."""

    job: Job
    settings: Settings

    def trial(self, values: dict[str, Any], role: str | None, note: str = "", seed: int = 0) -> NextCell:
        """Returns a cell at some values; `seed` counts fresh ones."""
        own: dict[str, Any] = {"role": role, SCALE: 1.0} | values
        if seed:
            own |= {"seed": self.job.config["seed"] + seed * _FRESH, "episodes": self.settings.confirm}
        return NextCell(self.job, own, note)


def search(course: Course, space: SearchSpace) -> CellPlan[SearchOutcome]:
    """Searches the smallest combination that breaks a policy, and returns all that it found on the way."""
    (clean,) = yield [course.trial({SCALE: 0.0}, NOMINAL, "without perturbation")]
    outcome = SearchOutcome(space, clean)
    if not clean.done:
        return outcome
    outcome.clean_share = float(failed_episodes(clean, clean, course.settings.threshold).mean())
    if not outcome.is_incapable:
        outcome.units = yield from _units(course, outcome)
        outcome.space = replace(space, units=np.array([unit.size for unit in outcome.units]))
        if not outcome.refusals:
            yield from _both(course, outcome)
    if outcome.found.get(SEARCH) is None:
        # The tables of the sweep have at least the clean cell.
        yield [course.trial({SCALE: 0.0}, None)]
    return outcome


def _units(course: Course, outcome: SearchOutcome) -> CellPlan[list[Unit]]:
    """Returns the critical level of every part alone, where it was not given."""
    space, given = outcome.space, ~np.isnan(outcome.space.units)
    off = {s.key: s.value(0.0) for s in space.strengths} | {f.key: f.value(0.5) for f in space.others}

    def plan(number: int) -> CellPlan[Unit]:
        strength, step = space.strengths[number], 1
        if given[number]:
            return Unit(float(space.units[number]), True)
        steps = bisect(strength, BREAKING_SHARE)
        amount = next(steps)
        while True:
            note = f"the critical level of each part alone, level {step} of at most {MOST_LEVELS}"
            (cell,) = yield [course.trial(off | {strength.key: strength.value(amount)}, "unit", note)]
            if not cell.done and step == 1:
                # The whole range is of no use, for example in an environment with other actions.
                outcome.refusals.append(str(cell.manifest.get("error", "")))
            step += 1
            try:
                amount = steps.send(_share(cell, outcome.clean, course))
            except StopIteration as end:
                return end.value

    return (yield from plans_together([plan(number) for number in range(len(space.strengths))]))


def _both(course: Course, outcome: SearchOutcome) -> Generator[list[NextCell], list[Cell], None]:
    space, seed = outcome.space, int(course.job.config["seed"])
    points = {
        SEARCH: optimise(space, course.settings.budget, seed, BREAKING_SHARE),
        RANDOM: draw_at_random(space, course.settings.budget, seed),
    }
    tried = yield from plans_together([_evaluate(course, outcome, role, own) for role, own in points.items()])
    outcome.tried = dict(zip(points, tried, strict=True))
    found = yield from plans_together([_settle(course, outcome, role) for role in points])
    outcome.found = dict(zip(points, found, strict=True))


def _evaluate(course: Course, outcome: SearchOutcome, role: str, points: Points) -> CellPlan[list[Tried]]:
    """Runs the points of an optimiser, or random ones."""
    tried, note, shares = list[Tried](), "", None
    while True:
        try:
            batch = points.send(shares)  # type: ignore[arg-type]
        except StopIteration:
            return tried
        values = [outcome.space.values(point) for point in batch]
        cells = yield [course.trial(own, role, note) for own in values]
        shares = [_share(cell, outcome.clean, course) for cell in cells]
        tried += [Tried(own, outcome.space.distance(own), share) for own, share in zip(values, shares, strict=True)]
        note = _progress(tried, course.settings.budget) if role == SEARCH else ""


def _progress(tried: list[Tried], budget: int) -> str:
    breaking = breaking_points(tried)
    nearest = f"nearest that fails: {breaking[0].distance:.3g}" if breaking else "none fails yet"
    return f"{len(tried)}/{budget} points, {nearest}"


def breaking_points(tried: list[Tried]) -> list[Tried]:
    """Returns the points that break the policy, the nearest first, once each."""
    breaking = [point for point in tried if point.share is not None and point.share >= BREAKING_SHARE]
    unique = {tuple(point.values.items()): point for point in sorted(breaking, key=lambda point: -point.distance)}
    return sorted(unique.values(), key=lambda point: point.distance)


def _settle(course: Course, outcome: SearchOutcome, role: str) -> CellPlan[Confirmed | None]:
    """Chooses the nearest point that also breaks the policy on other seeds, and confirms it on others again."""
    breaking = breaking_points(outcome.tried[role])
    if not breaking:
        return None
    candidates = sorted([*breaking[:_NEAREST], *_farther(outcome.space, breaking[0])], key=lambda p: p.distance)
    progress = f"{_progress(outcome.tried[role], course.settings.budget)}; selection on fresh seeds"
    note = progress if role == SEARCH else ""
    cells = yield [course.trial(p.values, f"{role}_selection", note, seed=1) for p in candidates]
    shares = [_share(cell, outcome.clean, course) for cell in cells]
    found = _chosen(candidates, shares, course.settings.confirm)
    # Only what the search found is in the tables of the sweep, beside the same episodes without it.
    own = None if role == SEARCH else f"{role}_confirmed"
    trials = [course.trial(found.values, own, "confirmation on fresh seeds", seed=2)]
    if role == SEARCH:
        trials.append(course.trial(found.values | {SCALE: 0.0}, None, seed=2))
    cell, *_ = yield trials
    share = _share(cell, outcome.clean, course)
    return None if share is None else Confirmed(found, share, course.settings.confirm, cell)


def _farther(space: SearchSpace, nearest: Tried) -> list[Tried]:
    points = []
    for factor in _FARTHER:
        ends = {s.key: abs(s.end) for s in space.strengths}
        amounts = {s.key: s.value(min(abs(nearest.values[s.key]) * factor, ends[s.key])) for s in space.strengths}
        values = nearest.values | amounts
        points.append(Tried(values, space.distance(values), None))
    return points


def _chosen(candidates: list[Tried], shares: list[float | None], episodes: int) -> Tried:
    """Returns the nearest candidate whose failures are above the target beyond chance, else that with most failures."""
    for point, share in zip(candidates, shares, strict=True):
        if share is not None and wilson(round(share * episodes), episodes, _SURE).low >= BREAKING_SHARE:
            return point
    return max(zip(candidates, shares, strict=True), key=lambda pair: pair[1] or 0.0)[0]


def _share(cell: Cell, clean: Cell, course: Course) -> float | None:
    return float(failed_episodes(cell, clean, course.settings.threshold).mean()) if cell.done else None
