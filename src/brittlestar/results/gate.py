"""A gate: judges requirements on a sweep by their intervals. Passed, failed, or not decided."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from brittlestar.errors import UserError
from brittlestar.results.aggregate import Tables
from brittlestar.results.compare import sides_of
from brittlestar.results.curve_intervals import metric_method
from brittlestar.results.difference import curve_difference, seed_interval
from brittlestar.results.format import is_missing
from brittlestar.results.gate_curves import Judged, JudgedCurve, choose_curves, judged_curves, metrics_of
from brittlestar.results.load import Cell, Row
from brittlestar.results.ranges import range_of
from brittlestar.results.requirements import OPERATORS, Requirement, metric_of
from brittlestar.results.rows import group_rows
from brittlestar.statistics.intervals import normal_quantile
from brittlestar.statistics.sample_size import clopper_pearson, decisive_sample_size, t_sample_size

PASSED, FAILED_GATE, NOT_DECIDED, NOT_MEASURED = "passed", "failed", "not decided", "not measured"
"""All of the interval meets the requirement, none of it does, a part of it does; or there is no such number."""
WORST_FIRST = (NOT_MEASURED, FAILED_GATE, NOT_DECIDED, PASSED)
_TOLERANCE = 1e-9
_POWER = normal_quantile(0.95) / (normal_quantile(0.95) + normal_quantile(0.6))
"""Half width over distance to the bound at which 80 % of repetitions decide."""
_BETWEEN = "its interval ends at levels of the sweep, so a level at the bound, or more episodes, would decide it"
_ENCLOSED = "the levels that enclose it, by the intervals of all levels, 95 %"
_SMALLEST_MARGIN, _MOST_EPISODES = 0.001, 10**7


@dataclass
class Measured:
    """A value with its interval, and what it is made from; the difference of two curves where these are compared."""

    value: float
    low: float
    high: float
    method: str
    seeds: int
    episodes: int
    """Episodes per level."""
    is_rate: bool = False
    """Whether it is the share of the episodes that have an event."""
    over_episodes: bool = False
    """Whether the interval reflects the number of episodes, although there are several seeds."""


@dataclass
class GateCheck:
    """A requirement on one curve, and how it was judged."""

    curve: str
    status: str
    value: float | None = None
    low: float | None = None
    high: float | None = None
    episodes: int | None = None
    more_episodes: int | None = None
    """Episodes per level that would decide it with a chance of 80 %, beyond those that ran; None for too many."""
    more_seeds: int | None = None
    """As many seeds, where there are several: more episodes of the same seeds do not show how seeds differ."""
    method: str = ""
    message: str = ""
    """Why it was not measured, or what would decide it other than episodes."""


@dataclass
class GatedRequirement:
    """A requirement with its checks, one for each curve that it is about."""

    requirement: Requirement
    checks: list[GateCheck] = field(default_factory=list)

    @property
    def status(self) -> str:
        """The worst status of its checks."""
        return _worst(check.status for check in self.checks)


def gate_status(results: Iterable[GatedRequirement]) -> str:
    """Returns the status of a gate: the worst of its requirements."""
    return _worst(result.status for result in results)


def _worst(statuses: Iterable[str]) -> str:
    return min(statuses, key=WORST_FIRST.index, default=PASSED)


class _Source:
    """The tables of a sweep by the labels of its curves."""

    def __init__(self, tables: Tables) -> None:
        columns = tables.grouping.columns
        self.curves = judged_curves(tables)
        self.metrics = metrics_of(tables.finished[0].manifest["columns"]) if tables.finished else []
        self._levels, self._summaries = (group_rows(rows, columns) for rows in (tables.curve, tables.summary))
        self._cells = tables.members()

    def levels(self, curve: JudgedCurve) -> list[Row]:
        """Returns the rows of a curve, one for each level."""
        return self._levels[tuple(curve.label.values())]

    def summary(self, curve: JudgedCurve, measure: str) -> Row:
        """Returns the row of a curve in the summary."""
        return next(row for row in self._summaries[tuple(curve.label.values())] if row["measure"] == measure)

    def cells(self, curve: JudgedCurve, level: float | None) -> list[Cell]:
        """Returns the finished cells of a curve, or those of one level."""
        cells = self._cells[tuple(curve.label.values())]
        return [*cells] if level is None else [cell for cell in cells if cell.strength == curve.level(level)]


def judge_gate(requirements: list[Requirement], tables: Tables) -> list[GatedRequirement]:
    """Judges every requirement on the curves that it is about."""
    source, results = _Source(tables), []
    for requirement in requirements:
        try:
            chosen = choose_curves(requirement, source.curves, source.metrics)
            checks = [_check(requirement, judged, source) for judged in chosen]
        except UserError as error:
            checks = [GateCheck("", NOT_MEASURED, message=str(error).removeprefix(f"`{requirement.text}`: "))]
        results.append(GatedRequirement(requirement, checks))
    return results


def _check(requirement: Requirement, judged: Judged, source: _Source) -> GateCheck:
    name = judged.curve.name if judged.other is None else f"{judged.curve.name} against {judged.other.name}"
    try:
        measured = _measure(requirement, judged, source)
    except UserError as error:
        return GateCheck(name, NOT_MEASURED, message=str(error))
    if is_missing(measured.value) and is_missing(measured.low):
        return GateCheck(name, NOT_MEASURED, message="it has no value in this sweep")
    status = verdict_of(requirement.operator, requirement.bound, measured.low, measured.high)
    between = status == NOT_DECIDED and requirement.left.name == "critical_interpolated"
    more = episodes_to_decide(measured, requirement.bound) if status == NOT_DECIDED and not between else None
    seeds = math.ceil(more * measured.seeds / measured.episodes) if more and measured.seeds > 1 else None
    value, low, high = (None if is_missing(v) else v for v in (measured.value, measured.low, measured.high))
    hint = _BETWEEN if between else ""
    return GateCheck(name, status, value, low, high, measured.episodes, more, seeds, measured.method, hint)


def verdict_of(operator: str, bound: float, low: float, high: float) -> str:
    """Judges a value by its interval.

    Example:
        >>> verdict_of(">=", 0.8, 0.82, 0.9), verdict_of(">=", 0.8, 0.7, 0.79), verdict_of("<", 0.8, 0.7, 0.9)
        ('passed', 'failed', 'not decided')
    """
    if is_missing(low) or is_missing(high):
        return NOT_DECIDED
    holds = OPERATORS[operator]
    # 0.9 - 0.5 is below 0.4 in floating point; a strict comparison excludes the bound itself.
    slack = _TOLERANCE * max(1.0, abs(bound)) * (1 if "=" in operator else -1) * (-1 if operator[0] == ">" else 1)
    ends = [holds(end, bound + slack) for end in (low, high)]
    return PASSED if all(ends) else NOT_DECIDED if any(ends) else FAILED_GATE


def _measure(requirement: Requirement, judged: Judged, source: _Source) -> Measured:
    quantity, curve = requirement.left, judged.curve
    metric = quantity.name if quantity.level is not None else curve.measure(metric_of(quantity, source.metrics))
    if judged.other is None:
        return _one(source, curve, quantity.name, metric, quantity.level)
    if quantity.name in ("critical_interpolated", "slope"):
        sides = [_one(source, side, quantity.name, metric, None) for side in (curve, judged.other)]
        return _apart(*sides)
    return _difference(source, (curve, judged.other), quantity.name, metric, quantity.level)


def _one(source: _Source, curve: JudgedCurve, name: str, metric: str, level: float | None) -> Measured:
    """Reads a number of one curve from the tables."""
    rows = source.levels(curve)
    if level is not None:
        return _at_level(next(row for row in rows if row["strength"] == curve.level(level)), metric)
    summary = source.summary(curve, metric)
    value, low, high = (summary[name + end] for end in ("", "_low", "_high"))
    fewest = min(rows, key=lambda row: row["n_episodes"])
    method = _ENCLOSED if name == "critical_interpolated" else summary["interval_method"]
    return Measured(value, low, high, method, fewest["n_seeds"], fewest["n_episodes"])


def _at_level(row: Row, metric: str) -> Measured:
    value, low, high = (row[metric + end] for end in ("", "_low", "_high"))
    seeds, episodes = row["n_seeds"], row["n_episodes"]
    method, is_event = row.get(f"{metric}_method") or metric_method(seeds, episodes), range_of(metric).is_event
    if is_event and not is_missing(value):
        # Wilson's interval holds its level on average over rates; a decision needs one that holds it at every rate.
        bounds = clopper_pearson(np.array([round(value * episodes)]), np.array([episodes]))
        low, high = min(low, float(bounds[0][0])), max(high, float(bounds[1][0]))
        method = f"{method}; at least Clopper-Pearson"
    return Measured(value, low, high, method, seeds, episodes, is_rate=is_event)


def _apart(left: Measured, right: Measured) -> Measured:
    """Returns a difference whose interval excludes 0 where the intervals of both sides do not overlap."""
    with np.errstate(invalid="ignore"):
        value = np.subtract(left.value, right.value)
        low, high = np.subtract(left.low, right.high), np.subtract(left.high, right.low)
    # Two curves that never cross are both beyond the sweep.
    low, high = (-math.inf if np.isnan(low) else low), (math.inf if np.isnan(high) else high)
    method, episodes = f"both intervals apart; {left.method}", min(left.episodes, right.episodes)
    return Measured(float(value), float(low), float(high), method, min(left.seeds, right.seeds), episodes)


def _difference(
    source: _Source, pair: tuple[JudgedCurve, JudgedCurve], name: str, metric: str, level: float | None
) -> Measured:
    """Compares two curves as `brittlestar compare` does."""
    a, b = (source.cells(curve, level) for curve in pair)
    sides = sides_of(a, b, metric, (pair[0].name, pair[1].name))
    if level is None and len(sides.strengths) < max(len(curve.levels) for curve in pair):
        raise UserError("the two curves have different levels: sweep both over the same ones")
    if not all(np.isfinite(side).any(axis=(1, 2)).all() for side in (sides.a, sides.b)):
        raise UserError(f"`{metric}` has no value at a level of one of the curves")
    row = curve_difference(sides)
    width = float(np.ptp(sides.strengths)) if name == "auc" else 1.0
    value, low, high = (width * row[key] for key in ("difference", "low", "high"))
    episodes = int(min(np.isfinite(side).sum(axis=(1, 2)).min() for side in (sides.a, sides.b)))
    seeds, half = min(sides.a.shape[1], sides.b.shape[1]), width * seed_interval(sides)[1]
    return Measured(value, low, high, row["method"], seeds, episodes, over_episodes=high - value > half)


def episodes_to_decide(measured: Measured, bound: float) -> int | None:
    """Returns how many more episodes per level would decide, if the value is as it seems; None for too many or unknown.

    So many decide with a chance of 80 %: the interval is then 0.7 times as wide as the distance to the bound.
    """
    if any(is_missing(v) or math.isinf(v) for v in (measured.value, measured.low, measured.high)):
        return None
    margin = abs(measured.value - bound) * _POWER
    half = measured.value - measured.low if measured.value >= bound else measured.high - measured.value
    needed = 0
    if measured.is_rate:
        if abs(measured.value - bound) < _SMALLEST_MARGIN:
            return None
        needed = decisive_sample_size(measured.value, bound)
    by_seeds = measured.seeds > 1 and not measured.over_episodes
    units = measured.seeds if by_seeds else measured.episodes
    if margin > _TOLERANCE and units > 1 and half > 0 and (by_seeds or not measured.is_rate):
        needed = max(needed, math.ceil(t_sample_size(half, units, margin) * measured.episodes / units))
    return max(1, needed - measured.episodes) if 0 < needed <= _MOST_EPISODES else None
