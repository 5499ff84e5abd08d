"""The race as a study: batches of shared episodes until it is decided which contestant is better."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from brittlestar.cells.job import Job, resolve
from brittlestar.engine.metrics import COLUMNS
from brittlestar.errors import UserError, counted, nearest, require, require_choice
from brittlestar.reports.sections import Section
from brittlestar.results.compare import HIGHER_IS_BETTER
from brittlestar.results.load import ROW_KEYS, Cell
from brittlestar.results.ranges import range_of
from brittlestar.statistics.pair_race import BOTH, FIRST, PairRule
from brittlestar.studies.base import Round, Rounds, Study, with_overrides
from brittlestar.studies.race.contestants import Contestant, RaceField, fields_of, places_of, plan_cell
from brittlestar.studies.race.duels import Duel, RaceMetric, duels_of, runners
from brittlestar.studies.race.finished import FinishedRace
from brittlestar.studies.race.results import race_section

OPEN, BUDGET = "open", "budget"
_BETTER = {"higher": 1, "lower": -1}


@dataclass
class Race(Study):
    """Runs contestants on the same episodes, batch by batch, until it is decided which is better.

    Attributes:
        metric: what counts; None for the headline of the environment.
        range: least and greatest value of the metric; None where it is known.
        better: `higher` or `lower`; None where it is known.
        reference: the contestant that all others must beat; None for all against all.
        alpha: chance of at least one wrong verdict, over all pairs of all races.
        test: `open` has no end; `budget` decides sooner, and holds for one budget, chosen before the race.
        margin: a difference of this share of the range counts as none.
        budget: most episodes of each contestant, rounded down to whole batches.
        batch: episodes of each contestant in a round: one cell.
    """

    metric: str | None = None
    range: list[float] | None = None
    better: str | None = None
    reference: str | None = None
    alpha: float = 0.05
    test: str = OPEN
    margin: float = 0.02
    budget: int = 1000
    batch: int = 20

    def __post_init__(self) -> None:
        require(0 < _number(self.alpha) < 1, "alpha", "above 0 and below 1", self.alpha)
        require(0 <= _number(self.margin) < 1, "margin", "at least 0 and below 1", self.margin)
        for name in ("batch", "budget"):
            value = getattr(self, name)
            require(type(value) is int and value >= 1, name, "a whole number of at least 1", value)
        require(self.budget >= self.batch, "budget", f"at least `batch` = {self.batch}", self.budget)
        require_choice("test", self.test, [OPEN, BUDGET])
        if self.better is not None:
            require_choice("better", self.better, _BETTER)
        metrics = [name for name in COLUMNS if name not in ROW_KEYS]
        if self.metric is not None and self.metric not in metrics:
            raise UserError(f"`metric` = {self.metric} is not a metric; {nearest(str(self.metric), metrics)}")
        if self.range is not None:
            _limits(self.range)
        self.reference = None if self.reference is None else str(self.reference)

    def rounds(self, cells: Iterable[Job]) -> Rounds:
        """Returns the rounds: a batch of each contestant whose place is open."""
        jobs = list(cells)
        _check_jobs(jobs)
        planned = [plan_cell(job) for job in jobs]
        fields = _groups(planned)
        self._check_fields(fields)
        _ = {self._scale(resolve(job).env.measure) for job in jobs}
        return self._rounds(jobs, planned)

    def analyse(self, cells: list[Cell], out: Path) -> list[Section]:
        """Writes `race`, `race_pairs`, `race.json` and the plot of the differences."""
        raced = [cell for cell in cells if cell.role is None]
        if not any(cell.done for cell in raced):
            return []
        fields = fields_of(raced)
        self._check_fields(fields)
        scale = self._scale(next(str(cell.manifest["measure"]) for cell in raced if cell.done))
        races = [FinishedRace(field, scale, self._duels(field, scale, fields), self.reference) for field in fields]
        return [race_section(races, self._settings(scale), out)]

    def _rounds(self, jobs: list[Job], planned: list[Cell]) -> Rounds:
        batches: list[list[Cell]] = [[] for _ in jobs]
        places, seed = places_of(planned), int(jobs[0].config["seed"])
        chosen, state = set(range(len(jobs))), "no episodes so far"
        for number in range(self.budget // self.batch):
            values = {"episodes": self.batch, "seed": seed + number}
            order = sorted(chosen)
            note = f"{self.batch} episodes of each of {counted(len(order), 'contestant')}; {state}"
            finished = yield Round([with_overrides(jobs[i], values) for i in order], note)
            for i, cell in zip(order, finished, strict=True):
                batches[i].append(cell)
            chosen, state = self._next(places, batches)
            if not chosen:
                return

    def _next(self, places: list[tuple[str, str]], batches: list[list[Cell]]) -> tuple[set[int], str]:
        """Returns the combinations that need another batch, and how an open pair looks."""
        done = [cell for cells in batches for cell in cells if cell.done]
        if not done:
            return set(), ""
        scale, chosen, state = self._scale(str(done[0].manifest["measure"])), set[int](), ""
        races = dict.fromkeys(race for race, _ in places)
        members = {race: [i for i, place in enumerate(places) if place[0] == race] for race in races}
        fields = [RaceField(race, [_entry(places[i][1], batches[i]) for i in own]) for race, own in members.items()]
        for field, own in zip(fields, members.values(), strict=True):
            race = FinishedRace(field, scale, self._duels(field, scale, fields), self.reference)
            places_left = runners(field, race.duels, field.index(self.reference))
            chosen |= {own[i] for i in places_left}
            state = state or next((race.state(d) for d in race.duels if {d.first, d.second} <= places_left), "")
        return chosen, state

    def _duels(self, field: RaceField, scale: RaceMetric, fields: Sequence[RaceField]) -> list[Duel]:
        sides = BOTH if self.reference is None else FIRST
        budget = self.budget // self.batch * self.batch if self.test == BUDGET else None
        rule = PairRule(self.alpha / self._pairs(fields), sides, scale.high - scale.low, budget)
        return duels_of(field, scale, rule, self.margin * rule.bound, field.index(self.reference))

    def _pairs(self, fields: Sequence[RaceField]) -> int:
        """Returns how many pairs share alpha, over all races."""
        counts = [len(field.contestants) for field in fields]
        return sum(n * (n - 1) // 2 if self.reference is None else n - 1 for n in counts)

    def _check_fields(self, fields: Sequence[RaceField]) -> None:
        for field in fields:
            field.index(self.reference)
            if len(field.contestants) < 2:
                raise UserError(
                    f"{field.contestants[0].name} is alone under {field.name}: a race needs two or more policies, "
                    "mitigations or checkpoints in the same environment, such as `policy=a,b`"
                )

    def _scale(self, headline: str) -> RaceMetric:
        """Returns the metric, its range and its direction; refuses one whose range or direction is not known."""
        metric = self.metric or headline
        span = range_of(metric)
        low, high = _limits(self.range) if self.range is not None else span[:2]
        if not math.isfinite(high - low):
            raise UserError(
                f"the range of `{metric}` is not known: set `study.range=[LOW,HIGH]` to the least and the greatest "
                "value that an episode can have"
            )
        if self.test == BUDGET and not span.is_event:
            raise UserError(f"`study.test` = budget is for metrics that an episode has or not, got {metric}: use open")
        if self.better is None and metric not in HIGHER_IS_BETTER:
            raise UserError(f"set `study.better=higher` or `study.better=lower` for `{metric}`")
        return RaceMetric(metric, float(low), float(high), span.is_event, _BETTER[self.better or "higher"])

    def _settings(self, scale: RaceMetric) -> dict[str, Any]:
        return vars(self) | {"metric": scale.metric, "budget": self.budget // self.batch * self.batch}


def _groups(planned: list[Cell]) -> list[RaceField]:
    """Returns the races of a plan, whose contestants have no cells yet."""
    places = places_of(planned)
    twice = [name for (_, name), count in _counts(places).items() if count > 1]
    if twice:
        raise UserError(f"{twice[0]} is in the race twice: give each contestant once")
    races = dict.fromkeys(race for race, _ in places)
    return [RaceField(race, [Contestant(name, []) for other, name in places if other == race]) for race in races]


def _counts(places: list[tuple[str, str]]) -> dict[tuple[str, str], int]:
    return {place: places.count(place) for place in places}


def _entry(name: str, cells: list[Cell]) -> Contestant:
    done = [cell for cell in cells if cell.done]
    return Contestant(name, done, failed=len(done) < len(cells))


def _check_jobs(jobs: list[Job]) -> None:
    """Refuses overrides that the race sets by itself, and start states that batches would share."""
    if not jobs:
        raise UserError("a race needs two or more contestants, such as `policy=a,b`")
    seeds = sorted({int(job.config["seed"]) for job in jobs})
    if len(seeds) > 1:
        shown = ",".join(map(str, seeds))
        raise UserError(f"`seed={shown}`: a race takes fresh seeds by itself, from one `seed` on")
    for job in jobs:
        named = [text for text in job.overrides if text.lstrip("+").startswith("episodes=")]
        if named:
            raise UserError(f"`{named[0]}`: a race runs batches of `study.batch` episodes, at most `study.budget`")
        if job.config.get("episode_seeds") == "consecutive":
            raise UserError("`episode_seeds=consecutive`: batches would share episodes; a race needs `independent`")


def _limits(limits: Any) -> tuple[float, float]:
    is_pair = isinstance(limits, list | tuple) and len(limits) == 2
    is_ordered = is_pair and all(math.isfinite(_number(v)) for v in limits) and limits[0] < limits[1]
    require(is_ordered, "range", "two numbers, the least and the greatest", limits)
    return float(limits[0]), float(limits[1])


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else math.nan
