"""Which of two policies is better, from the differences of shared episodes: decided at the first pair that suffices."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from brittlestar.errors import require
from brittlestar.statistics.arrays import Array
from brittlestar.statistics.betting import betting_interval, growth, log_e_values
from brittlestar.statistics.intervals import Interval
from brittlestar.statistics.spending import first_crossing

BOTH = "both"
"""Sides: equal policies give either verdict with at most alpha."""
FIRST = "first"
"""Sides: a policy that is not better counts as better with at most alpha, and a better one as not better."""
_NO_GROWTH = 1e-9


@dataclass(frozen=True)
class PairRule:
    """How a race of two is decided.

    Attributes:
        alpha: the error rate, however often one looks.
        sides: `both` asks which is better; `first` asks whether the first is better, or is not.
        bound: the greatest difference that a pair can have.
        budget: pairs at which the race ends, for a test that spends alpha over them; None for one without an end. Only
            for differences of successes.
    """

    alpha: float = 0.05
    sides: str = BOTH
    bound: float = 1.0
    budget: int | None = None

    def __post_init__(self) -> None:
        require(0 < self.alpha < 1, "alpha", "above 0 and below 1", self.alpha)
        require(self.bound > 0 and math.isfinite(self.bound), "bound", "above 0 and finite", self.bound)

    @property
    def tail(self) -> float:
        """The error rate of each verdict, and of each bound of the interval."""
        return self.alpha / 2 if self.sides == BOTH else self.alpha


@dataclass(frozen=True)
class Decision:
    """How a race of two ended: `sign` is 1 for the first, -1 for the second (or "not better"), 0 for not decided."""

    sign: int
    pairs: int
    """Pairs until the decision; all pairs without one."""
    difference: float
    """Mean difference over these pairs, first minus second."""
    interval: Interval
    """Anytime-valid interval of the difference, after these pairs."""


def decide(differences: ArrayLike, rule: PairRule) -> Decision:
    """Decides a race from the differences of all pairs, in order; differences after the decision change nothing.

    Example:
        >>> decision = decide([1, 0, 1, 1, 1, 1, 1, 1, -1, 0], PairRule())
        >>> decision.sign, decision.pairs
        (1, 8)
    """
    scaled = _scaled(differences, rule)
    crossings = [_crossing(scaled, rule), _crossing(-scaled, rule)]
    first = min(filter(None, crossings), default=0)
    sign = 0 if not first else 1 if crossings[0] == first else -1
    used = scaled[: first or len(scaled)]
    interval = betting_interval(used, (rule.tail, rule.tail)) if used.size else Interval(-1.0, 1.0)
    mean = float(used.mean()) if used.size else math.nan
    bounds = Interval(*(float(end) * rule.bound for end in interval))
    return Decision(sign, len(used), mean * rule.bound, bounds)


def e_values(differences: ArrayLike, rule: PairRule) -> tuple[Array, Array]:
    """Returns the e-processes for "the first is better" and for "the second is", after each pair."""
    scaled = _scaled(differences, rule)
    return np.exp(log_e_values(scaled)), np.exp(log_e_values(-scaled))


def interval_path(differences: ArrayLike, rule: PairRule, most: int = 60) -> tuple[list[int], list[Interval]]:
    """Returns numbers of pairs, at most about `most`, and the anytime-valid interval after each."""
    scaled = _scaled(differences, rule)
    counts = sorted({math.ceil(len(scaled) ** (i / most)) for i in range(most + 1)}) if scaled.size else []
    intervals = (betting_interval(scaled[:count], (rule.tail, rule.tail)) for count in counts)
    return counts, [Interval(*(float(end) * rule.bound for end in interval)) for interval in intervals]


def pairs_left(differences: ArrayLike, rule: PairRule) -> float:
    """Returns about how many further pairs decide the race without an end, if they are like these; inf for none.

    It is what the e-process lacks, divided by the growth of the best bet.

    Example:
        >>> pairs_left([1, 1, 0, 0, -1, 1, 0, 0], PairRule()), pairs_left([0, 0], PairRule())
        (56.0, inf)
    """
    scaled = _scaled(differences, rule)
    rates = [(growth(side), side) for side in (scaled, -scaled)] if scaled.size else [(0.0, scaled)]
    rate, side = max(rates, key=lambda pair: pair[0])
    if rate < _NO_GROWTH:
        return math.inf
    return float(max(1, math.ceil((-math.log(rule.tail) - float(log_e_values(side)[-1])) / rate)))


def _scaled(differences: ArrayLike, rule: PairRule) -> Array:
    return np.asarray(differences, dtype=np.float64) / rule.bound


def _crossing(scaled: Array, rule: PairRule) -> int:
    """Returns after which pair the first is shown to be better; 0 if it is not."""
    if not scaled.size:
        return 0
    if rule.budget is not None:
        return int(first_crossing(scaled[: rule.budget], rule.tail, rule.budget))
    is_over = log_e_values(scaled) >= -math.log(rule.tail)
    return int(np.argmax(is_over)) + 1 if is_over.any() else 0
