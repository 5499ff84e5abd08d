"""The outcomes of one curve as numbers from 0 to 1: successes, or returns as shares of the best clean one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from brittlestar.errors import UserError
from brittlestar.results.load import RATES, Cell
from brittlestar.statistics.intervals import Interval, t_interval, wilson
from brittlestar.statistics.trials import Trials

RETURN, SUCCESS = "return", "success"
CRITICAL_METRICS = (SUCCESS, *RATES, RETURN)
_LEAST_DISPERSION = 0.01


class LevelMean(NamedTuple):
    """The mean outcome at a level, with its interval and number of episodes."""

    level: float
    mean: float
    bounds: Interval
    episodes: int


class CellOutcomes(NamedTuple):
    """The outcomes of one cell: level, seed, a number from 0 to 1 for each episode."""

    level: float
    seed: int
    outcomes: np.ndarray


@dataclass
class CurveOutcomes:
    """The outcomes of one curve, in the order of time."""

    metric: str | None
    batches: list[CellOutcomes] = field(default_factory=list)
    _bounds: tuple[float, float] | None = None
    """Returns that count as 0 and as 1."""

    def add(self, cell: Cell, level: float) -> None:
        """Adds a finished cell; the first one of a share of the return must be clean."""
        measure = measure_of(str(cell.manifest["measure"]), self.metric, cell.choice("env"))
        values = cell.column(measure).astype(np.float64)
        if measure == RETURN:
            if self._bounds is None:
                self._bounds = _return_bounds(cell, values)
            low, high = self._bounds
            values = np.clip((values - low) / (high - low), 0, 1)
        if np.isnan(values).any():
            raise UserError(f"`study.metric={self.metric}`: {cell.choice('env')} has no value of it in some episodes")
        self.batches.append(CellOutcomes(level, cell.seed, values))

    @property
    def is_share(self) -> bool:
        """Whether the threshold is a share of the clean mean."""
        return self._bounds is not None

    @property
    def trials(self) -> Trials:
        """The sums of outcomes."""
        levels, sums, counts = zip(*((b.level, b.outcomes.sum(), b.outcomes.size) for b in self.batches), strict=True)
        return Trials.of(levels, sums, counts, self._dispersion() if self.is_share else 1.0)

    def means(self) -> list[LevelMean]:
        """Returns the mean at every level: with Wilson's interval of successes, Student's of shares."""
        levels: dict[float, list[np.ndarray]] = {}
        for batch in self.batches:
            levels.setdefault(batch.level, []).append(batch.outcomes)
        means = []
        for level in sorted(levels):
            values = np.concatenate(levels[level])
            bounds = t_interval(values) if self.is_share else wilson(values.sum(), values.size)
            means.append(LevelMean(level, float(values.mean()), bounds, values.size))
        return means

    def _dispersion(self) -> float:
        """Returns the variance within cells, relative to that of successes with the same means."""
        squares = sum(((b.outcomes - b.outcomes.mean()) ** 2).sum() for b in self.batches)
        most = sum((b.outcomes.size - 1) * b.outcomes.mean() * (1 - b.outcomes.mean()) for b in self.batches)
        return float(np.clip(squares / most if most > 0 else 1.0, _LEAST_DISPERSION, 1.0))


def measure_of(headline: str, metric: str | None, env: str) -> str:
    """Returns the column of the episodes that a metric needs: the headline of the environment if it is None."""
    if metric in (None, SUCCESS) and headline in RATES:
        return headline
    if metric in (SUCCESS, *RATES) and headline not in RATES:
        raise UserError(f"`study.metric={metric}` needs `env.success`; {env} has `study.metric=return`")
    return metric or RETURN


def _return_bounds(cell: Cell, values: np.ndarray) -> tuple[float, float]:
    """Returns the return of random actions, and the best one of a clean cell."""
    low = (cell.setting("env").get("returns") or {}).get("random")
    if low is None:
        if values.min() < 0:
            raise UserError(
                f"`study.metric=return` needs `env.returns.random`, the return that counts as 0, because "
                f"{cell.choice('env')} has returns below 0"
            )
        low = 0.0
    return float(low), float(max(values.max(), low + 1e-9))
