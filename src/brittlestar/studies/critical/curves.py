"""The finished cells of a sweep as curves: outcomes, critical level, and what to say about it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from brittlestar.errors import UserError
from brittlestar.randomness import generator
from brittlestar.reports.curve_names import curve_names
from brittlestar.results.format import bounded, brackets, text
from brittlestar.results.grouping import group
from brittlestar.results.load import Cell, Row
from brittlestar.statistics.crossing_design import Estimate, grid_episodes, residuals
from brittlestar.statistics.intervals import Interval
from brittlestar.statistics.monotone_check import find_rise
from brittlestar.statistics.placement import Reach, Search, SearchState, look
from brittlestar.statistics.trials import Threshold
from brittlestar.studies.critical.outcomes import CurveOutcomes
from brittlestar.studies.critical.ranges import cut_to_bound, is_range_end
from brittlestar.studies.factors import with_names

LEVEL_STYLE = ".3g"


@dataclass(frozen=True)
class CriticalCurve:
    """One curve of a sweep, and its critical level."""

    label: Row
    name: str
    outcomes: CurveOutcomes
    search: Search
    look: SearchState
    key: str
    sign: int
    failed: int = 0

    @property
    def estimate(self) -> Estimate | None:
        """The critical level with its interval; None without one."""
        low, high = self.look.interval
        if self.look.status in ("robust", "incapable") or math.isinf(high) or not low <= self.look.fit.estimate <= high:
            return None
        return Estimate(self.look.fit.estimate, float(low), float(high))

    @property
    def clean(self) -> tuple[float, Interval]:
        """The mean at level 0 with its interval, of successes or of shares of the best return."""
        first = self.outcomes.means()[0]
        return first.mean, first.bounds

    @property
    def metric(self) -> str:
        """What falls, in words."""
        value = text(self.search.threshold.value)
        return f"{value} of the clean return" if self.search.threshold.relative else f"a success rate of {value}"

    def statement(self) -> str:
        """Returns the result in a sentence."""
        trials, (mean, (low, high)) = self.outcomes.trials, self.clean
        most = text(self.sign * float(trials.levels.max()))
        if self.look.status == "incapable":
            return f"below {self.metric} already at 0: {bounded(mean, low, high, LEVEL_STYLE)}; no critical level"
        if self.look.status == "robust":
            return f"does not fall below {self.metric} up to {most}, the largest level tried"
        value = self.estimate
        if value is None:
            line = f"not decided whether it falls below {self.metric} within {most}"
            return line + (f": the budget of {self.search.budget:,} episodes is used" * (self.look.status == "budget"))
        line = f"falls below {self.metric} at {self._signed(value)}"
        if self.search.reach.whole and value.high - value.low <= 1:
            line += f" (holds at {text(math.floor(value.value))}, not at {text(math.floor(value.value) + 1)})"
        if self.look.status == "budget":
            line += f"; wider than asked: the budget of {self.search.budget:,} episodes is used"
        return line + ("; the sweep is not complete" if self.look.status == "open" else "")

    def _signed(self, value: Estimate) -> str:
        if self.sign > 0:
            return bounded(*value, LEVEL_STYLE)
        return bounded(-value.value, -value.high, -value.low, LEVEL_STYLE)

    def row(self) -> Row:
        """Returns the curve as a row of `critical`."""
        trials, value, (mean, clean) = self.outcomes.trials, self.estimate, self.clean
        ends = sorted(self.sign * end + 0.0 for end in self.look.bracket)
        numbers = sorted(self.sign * end for end in value[1:]) if value else [math.nan] * 2
        grid = grid_episodes(self.look.fit, trials, value.high - value.low) if value else None
        return self.label | {
            "key": self.key,
            "critical": self.sign * value.value if value else math.nan,
            "critical_low": numbers[0],
            "critical_high": numbers[1],
            "surely_above": max(ends[0], 0.0) if self.sign > 0 else ends[0],
            "surely_below": ends[1] if self.sign > 0 else min(ends[1], 0.0),
            "threshold": self.search.threshold.value,
            "metric": "share of the clean return" if self.search.threshold.relative else "success",
            "clean": mean,
            "clean_low": clean.low,
            "clean_high": clean.high,
            "episodes": trials.total,
            "grid_episodes": grid,
            "status": self.look.status,
            "warning": self.warning(),
        }

    def warning(self) -> str:
        """Returns why the result may be wrong; empty if nothing speaks against it."""
        rise = find_rise(self.outcomes.trials, generator(0, "rise"))
        if rise is not None:
            sides = (text(self.sign * rise.first[0]), text(self.sign * rise.second[0]))
            return f"the curve is not monotone: more success at {sides[1]} than at {sides[0]} (p = {rise.p_value:.2g})"
        if math.isnan(self.look.bracket.low):
            return "the curve is not monotone: no crossing agrees with all outcomes"
        return f"{self.failed} cells failed, and ended the search" if self.failed else ""

    def moves(self) -> dict[int, np.ndarray]:
        """Returns how much every episode moves the estimate, by seed."""
        batches = self.outcomes.batches
        levels, outcomes = [b.level for b in batches], [b.outcomes for b in batches]
        parts = residuals(self.look.fit, levels, outcomes, self.outcomes.trials.dispersion)
        return {batch.seed: part for batch, part in zip(batches, parts, strict=True)}

    def line(self, levels: np.ndarray) -> tuple[np.ndarray, np.ndarray, Interval]:
        """Returns levels, means and bounds to draw: the fit, or the outcomes of a policy that fails at 0 already."""
        if self.look.status != "incapable":
            return levels, self.look.fit.mean(levels), self.look.fit.band(levels)
        # A fit always has a crossing, and would start above the threshold.
        means = self.outcomes.means()
        lows, highs = zip(*(one.bounds for one in means), strict=True)
        x, y = np.array([one.level for one in means]), np.array([one.mean for one in means])
        return x, y, Interval(np.array(lows), np.array(highs))

    def surely(self) -> str:
        """Writes the bracket."""
        low, high = map(float, self.look.bracket)
        if math.isnan(low):
            return "none"
        # Never -0.
        ends = sorted((self.sign * max(low, 0.0) + 0.0, self.sign * high + 0.0))
        return brackets(ends[0], ends[1], LEVEL_STYLE)


def critical_curves_of(cells: list[Cell], settings: Search, metric: str | None, key: str | None) -> list[CriticalCurve]:
    """Returns the curves of a sweep, in its order; a curve without a finished cell is left out.

    The range of `settings` is relative to the first level of each search.
    """
    key = None if key is None else with_names(cells[0].config, key)
    grouping = group(cells)
    columns = [column for column in grouping.columns if column not in (key, "episodes")]
    members: dict[tuple, list[Cell]] = {}
    for cell, label in zip(cells, grouping.labels, strict=True):
        pairs = dict(zip(grouping.columns, label, strict=True))
        members.setdefault(tuple(pairs[column] for column in columns), []).append(cell)
    names = curve_names(columns, members)
    curves = []
    for label, own in members.items():
        if any(cell.done for cell in own):
            name = names[label] or own[0].choice("policy")
            curves.append(_curve(dict(zip(columns, label, strict=True)), name, own, (settings, metric, key)))
    return curves


def _curve(label: Row, name: str, cells: list[Cell], settings: tuple[Search, str | None, str | None]) -> CriticalCurve:
    search, metric, key = settings
    done = sorted((cell for cell in cells if cell.done), key=lambda cell: (cell.seed, cell.manifest["number"]))
    outcomes, values = CurveOutcomes(metric), [level_of(cell, key) for cell in done]
    if values[0] != 0:
        raise UserError(f"{name}: the cell without perturbation is missing, with which a critical search starts")
    for cell, value in zip(done, values, strict=True):
        outcomes.add(cell, abs(value))
    most, whole = max(map(abs, values)), all(isinstance(value, int) for value in values)
    farthest = search.reach.most / search.reach.start
    search = replace(
        search,
        threshold=Threshold(search.threshold.value, outcomes.is_share),
        reach=Reach(most / 4 or 1.0, most, whole=whole),
    )
    full_key = key or f"perturbation.{done[-1].strength_name}"
    sign = -1 if min(values) < 0 else 1
    seen = look(outcomes.trials, search)
    seen = seen._replace(interval=cut_to_bound(done[-1], full_key, sign, seen.interval, most))
    if seen.status == "robust" and not is_range_end(done[-1], full_key, sign, outcomes.trials.levels, farthest):
        is_used = outcomes.trials.total + outcomes.batches[0].outcomes.size > search.budget
        seen = seen._replace(status="budget" if is_used else "open")
    return CriticalCurve(label, name, outcomes, search, seen, full_key, sign, len(cells) - len(done))


def level_of(cell: Cell, key: str | None) -> float | int:
    """Returns the value of the key that a search varies."""
    node = cell.config
    for part in (key or f"perturbation.{cell.strength_name}").split("."):
        node = node[int(part)] if isinstance(node, list) else node[part]
    return node  # type: ignore[return-value]
