"""The range of every measure: a rate lies between 0 and 1, an amount is at least 0. All intervals are cut to it."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from brittlestar.statistics.arrays import as_number
from brittlestar.statistics.intervals import Interval


class Range(NamedTuple):
    """The smallest and the largest value that a measure can have."""

    low: float = -math.inf
    high: float = math.inf
    is_event: bool = False
    """Whether an episode has it or not, so that its mean over episodes is a rate."""


NUMBER, AMOUNT, COUNT, SHARE = Range(), Range(0.0), Range(1.0), Range(0.0, 1.0)
EVENT, GAP = Range(0.0, 1.0, is_event=True), Range(-1.0, 1.0)

_ROUNDING = 1e-9

_EPISODES = {
    EVENT: "terminated truncated success_any success_final solved_at_reset collision_any",
    SHARE: "dwell completion_fraction collision_rate observation_touched",
    COUNT: "length time_to_success",
    AMOUNT: "cycle_time smoothness peak_action action_energy smoothness_executed peak_action_executed "
    "action_energy_executed jerk_rms velocity_variance path_length path_length_observed final_distance "
    "time_to_failure recovery_time action_divergence observation_change action_change reward_change",
    NUMBER: "return normalised_return return_observed",
}
_CHANNELS = "competence coherence continuity integrity meaning"
_STRESS = {
    SHARE: "rate rate_pre rate_shock rate_post false_alarms identity stability robust_score",
    GAP: "excess identity_drop residual",
    AMOUNT: "recovery_episodes",
    NUMBER: "return_drop return_effect normalised_loss cvar_05 cvar_25",
}
_OFFLINE = {
    SHARE: "action_error_rate",
    GAP: "correlation",
    AMOUNT: "action_mse action_dtw trajectory_dtw frechet_distance",
    NUMBER: "log_likelihood",
}
_TABLES = (_EPISODES, _STRESS, _OFFLINE)
RANGES = {name: span for table in _TABLES for span, names in table.items() for name in names.split()}
"""Every measure that a table shows with an interval, by the name of its column."""
RANGES |= {f"{name}_{phase}": SHARE for name in _CHANNELS.split() for phase in ("pre", "shock", "post")}
RANGES |= {f"{name}_drop": GAP for name in _CHANNELS.split()}


def range_of(measure: str) -> Range:
    """Returns the range of a measure; a name that is not in the table can have any value.

    Example:
        >>> range_of("dwell").high, range_of("return").high
        (1.0, inf)
    """
    return RANGES.get(measure, NUMBER)


def difference_range(span: Range) -> Range:
    """Returns the range of the difference of two values.

    Example:
        >>> difference_range(SHARE)[:2]
        (-1.0, 1.0)
    """
    return Range(span.low - span.high, span.high - span.low)


def cut(span: Sequence[ArrayLike], mean: ArrayLike, low: ArrayLike, high: ArrayLike) -> Interval:
    """Cuts intervals to a range, or to arrays of lowest and of highest values.

    An interval whose mean is outside of the range remains: an environment may report completion in percent.

    Example:
        >>> cut(SHARE, 0.5, -5.85, 6.85)
        Interval(low=0.0, high=1.0)
    """
    bottom, top = span[0], span[1]
    inside = ~(np.less(mean, np.subtract(bottom, _ROUNDING)) | np.greater(mean, np.add(top, _ROUNDING)))
    bounds = np.where(inside, np.maximum(low, bottom), low), np.where(inside, np.minimum(high, top), high)
    return Interval(*map(as_number, bounds))
