"""A bracket of the crossing of a falling curve that holds at every look."""

import math

import numpy as np

from brittlestar.errors import require
from brittlestar.statistics.arrays import Array, special
from brittlestar.statistics.intervals import LEVEL, Interval
from brittlestar.statistics.trials import Trials

_NEAR = 0.03
"""Distance of levels, in logarithms, at which earlier outcomes count for a bet."""
_MOST_PRIOR = 30.0


def anytime_bracket(trials: Trials, goal: tuple[float, float], level: float = LEVEL) -> Interval:
    """Returns levels between which a falling curve crosses a goal, at every look with probability `level`.

    Only that the curve falls is assumed, and independent outcomes: every candidate `c` for the crossing implies rates
    of at least the goal below `c` and at most the goal from there on. Bets against these rates, made before each cell
    from the cells before it, multiply their wealth. A candidate is excluded once the wealth against it reaches
    `1 / (1 - level)` (Ville's inequality). The lower end is -inf if the curve may be below the goal at all levels, the
    upper one inf if it may never be.

    Args:
        trials: the outcomes, in the order of time.
        goal: lowest and highest value of the goal, equal if it is known.
        level: the confidence level.

    Example:
        >>> anytime_bracket(Trials.of([0, 0.1, 0.2, 0.3], [40, 36, 4, 0], [40, 40, 40, 40]), (0.5, 0.5))
        Interval(low=0.1, high=0.2)
    """
    wealth = _wealth(trials, goal)
    levels = np.unique(trials.levels)
    # Candidate k lies above level k - 1 and not above level k.
    survivors = np.flatnonzero(wealth < -math.log(1 - level))
    if not len(survivors):
        return Interval(math.nan, math.nan)
    ends = np.concatenate([[-np.inf], levels, [np.inf]])
    return Interval(float(ends[survivors[0]]), float(ends[survivors[-1] + 1]))


def _wealth(trials: Trials, goal: tuple[float, float]) -> Array:
    """Returns the largest log wealth so far against each candidate."""
    require(0 < goal[0] <= goal[1] < 1, "goal", "between 0 and 1", goal)
    levels = np.unique(trials.levels)
    steps = np.zeros((len(trials.levels), len(levels) + 1))
    for i, x in enumerate(trials.levels):
        prior = _prior(trials, i)
        above = _log_bet(trials.sums[i], trials.counts[i] - trials.sums[i], prior, goal[1])
        below = _log_bet(trials.counts[i] - trials.sums[i], trials.sums[i], prior[::-1], 1 - goal[0])
        place = int(np.searchsorted(levels, x))
        steps[i, : place + 1] = above
        steps[i, place + 1 :] = below
    return np.cumsum(steps, axis=0).max(axis=0, initial=0.0)


def _prior(trials: Trials, i: int) -> tuple[float, float]:
    """Returns the parameters of a Beta distribution for the rate of a cell, from the cells before it nearby."""
    x, before = max(float(trials.levels[i]), 1e-300), slice(None, i)
    nearby = np.exp(-np.abs(np.log(np.maximum(trials.levels[before], 1e-300) / x)) / _NEAR)
    hits = float(nearby @ trials.sums[before])
    misses = float(nearby @ (trials.counts[before] - trials.sums[before]))
    shrink = min(1.0, _MOST_PRIOR / max(hits + misses, 1e-9))
    return 0.5 + shrink * hits, 0.5 + shrink * misses


def _log_bet(hits: float, misses: float, prior: tuple[float, float], goal: float) -> float:
    """Returns the log wealth of a bet on a rate above the goal; the stake is the probability of that."""
    functions, (a, b) = special(), prior
    stake, after = functions.betaincc(a, b, goal), functions.betaincc(a + hits, b + misses, goal)
    if stake <= 0 or after <= 0:
        return math.log1p(-stake) if stake < 1 else 0.0
    ratio = functions.betaln(a + hits, b + misses) - functions.betaln(a, b)
    ratio += math.log(after) - hits * math.log(goal) - misses * math.log1p(-goal)
    return float(np.logaddexp(math.log1p(-stake) if stake < 1 else -np.inf, ratio))


def mean_at_every_look(total: float, count: float, level: float = LEVEL) -> Interval:
    """Returns an interval of the mean of outcomes in [0, 1] that holds at every look, from their sum and number.

    It holds the means whose likelihood is not `1 / (1 - level)` times below that of the Beta(1/2, 1/2) mixture.

    Example:
        >>> np.round(mean_at_every_look(36, 40), 2).tolist()
        [0.69, 0.99]
    """
    means = np.linspace(0, 1, 2001)[1:-1]
    functions, misses = special(), count - total
    mixture = functions.betaln(0.5 + total, 0.5 + misses) - functions.betaln(0.5, 0.5)
    wealth = mixture - total * np.log(means) - misses * np.log1p(-means)
    inside = means[wealth < -math.log(1 - level)]
    return Interval(float(inside.min()), float(inside.max()))
