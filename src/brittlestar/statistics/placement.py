"""Where the next outcomes decide most about the crossing of a falling curve, and when it is known well enough."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from brittlestar.statistics.anytime_bracket import anytime_bracket, mean_at_every_look
from brittlestar.statistics.arrays import Array
from brittlestar.statistics.falling_curve import CrossingFit, fit_crossing
from brittlestar.statistics.intervals import LEVEL, Interval
from brittlestar.statistics.trials import Threshold, Trials

Status = Literal["open", "reached", "robust", "incapable", "budget"]
"""Whether to go on, and why not: interval narrow enough, no crossing in the range, below at level 0, budget used."""
_HEIGHTS = (0.5, 0.2, 0.0, -0.2, -0.5)
"""Where outcomes go, as shares of the height of the curve above and below the threshold."""
_SURE, _CLEAN_LEVEL = 0.95, 0.99
_DIGITS = 4


@dataclass(frozen=True)
class Reach:
    """The levels that may be chosen: the first one to try, the largest, and whether they are whole numbers."""

    start: float
    most: float
    whole: bool = False

    def level(self, value: float) -> float:
        """Returns the nearest level that may be chosen, with few digits."""
        inside = min(value, self.most)
        return float(max(round(inside), 1)) if self.whole else min(float(f"{inside:.{_DIGITS}g}"), self.most)


@dataclass(frozen=True)
class Search:
    """What to find, how exactly, and with how many outcomes."""

    threshold: Threshold
    reach: Reach
    width: float = 0.05
    """Width of the interval: relative to the crossing, or in the unit of levels if `absolute`."""
    absolute: bool = False
    budget: int = 3000

    def wanted(self, crossing: float) -> float:
        """Returns the width that ends the search; between two whole numbers there is nothing to find."""
        width = self.width if self.absolute else self.width * crossing
        return max(width, 1.0) if self.reach.whole else width


class SearchState(NamedTuple):
    """What the outcomes so far show."""

    status: Status
    fit: CrossingFit
    interval: Interval
    bracket: Interval


def look(trials: Trials, search: Search) -> SearchState:
    """Returns the estimate, its interval, the bracket, and whether the search is over."""
    levels = np.unique(trials.levels)
    above_zero, top = levels[levels > 0], float(levels.max())
    lowest = float(above_zero.min()) if len(above_zero) else search.reach.start
    fit = fit_crossing(trials, search.threshold, (lowest / 16, 2 * max(top, lowest)))
    interval, bracket = fit.interval(levels), bracket_of(trials, search.threshold)
    return SearchState(_status(trials, search, (fit, interval, bracket)), fit, interval, bracket)


def bracket_of(trials: Trials, threshold: Threshold) -> Interval:
    """Returns the bracket that holds at every look; the value at level 0, of a relative threshold, is uncertain too."""
    if not threshold.relative:
        return anytime_bracket(trials, (threshold.value, threshold.value))
    first = trials.levels == 0
    clean = mean_at_every_look(trials.sums[first].sum(), trials.counts[first].sum(), _CLEAN_LEVEL)
    goal = threshold.value * float(clean.low), threshold.value * float(clean.high)
    return anytime_bracket(trials, goal, LEVEL + 1 - _CLEAN_LEVEL)


def _status(trials: Trials, search: Search, seen: tuple[CrossingFit, Interval, Interval]) -> Status:
    fit, interval, bracket = seen
    if bracket.high == 0:
        return "incapable"
    if bracket.low >= search.reach.most:
        return "robust"
    if interval.high - interval.low <= search.wanted(fit.estimate):
        return "reached"
    return "open" if trials.total < search.budget else "budget"


def first_levels(reach: Reach) -> list[float]:
    """Returns the levels to start with: 0, and around the first one.

    Example:
        >>> first_levels(Reach(start=0.05, most=3.2)), first_levels(Reach(start=2, most=4, whole=True))
        ([0.0, 0.025, 0.05, 0.1, 0.2], [0.0, 1.0, 2.0, 4.0])
    """
    levels = [reach.level(factor * reach.start) for factor in (0.5, 1, 2, 4)]
    return list(dict.fromkeys([0.0, *levels]))


def next_levels(trials: Trials, search: Search, seen: SearchState, batch: int) -> list[float]:
    """Returns the levels of the next batches of outcomes, in turn, until the round or the budget is full.

    They are above the largest level so far if the crossing may be there, else around the crossing, where the mean curve
    of the posterior passes some heights: far apart while the crossing is uncertain, close to it later.
    """
    top, most = float(trials.levels.max()), search.reach.most
    left = max((search.budget - trials.total) // batch, 1)
    if top < most and seen.fit.masses[seen.fit.crossings <= top].sum() < _SURE:
        return list(dict.fromkeys(search.reach.level(factor * top) for factor in (2, 4)))[:left]
    # A share of the value at level 0 needs that value.
    levels = [0.0] * search.threshold.relative + [search.reach.level(level) for level in _levels_at(seen, search.reach)]
    distinct = list(dict.fromkeys(levels))
    size = np.clip(_missing(trials, search, seen) / 2, len(distinct) * batch, max(trials.total, len(distinct) * batch))
    turns = max(int(size) // (batch * len(distinct)), 1)
    return (distinct * turns)[:left]


def _missing(trials: Trials, search: Search, seen: SearchState) -> float:
    """Returns how many more outcomes the width of the fit needs, if it falls by their square root.

    A gap between two levels, which may widen the interval, needs other levels and not more outcomes.
    """
    low, high = seen.fit.ends()
    ratio = (high - low) / search.wanted(seen.fit.estimate)
    return trials.total * min(ratio**2 - 1, 1e6)


def _levels_at(seen: SearchState, reach: Reach) -> Array:
    """Returns where the mean curve passes the heights."""
    low, high = seen.fit.quantile(0.001) / 4, min(seen.fit.quantile(0.999) * 4, reach.most)
    levels = np.geomspace(min(low, high / 2), high, 161)
    values = seen.fit.mean(levels)
    _, _, floor, lapse, _ = seen.fit.typical
    goal, top = float(seen.fit.threshold.of(1 - lapse)), 1 - lapse
    heights = [goal + share * (top - goal if share > 0 else goal * (1 - floor)) for share in _HEIGHTS]
    places = np.searchsorted(-values, -np.array(heights))
    return levels[np.minimum(places, len(levels) - 1)]
