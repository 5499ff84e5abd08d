"""Filters of observations: averages, medians, and the last valid value."""

from dataclasses import dataclass

import numpy as np

from brittlestar.errors import PositiveFraction, PositiveInt, UserError, nearest
from brittlestar.mitigations.array_filters import Exponential, HoldLast, Median, MovingAverage
from brittlestar.mitigations.base import ArrayFilter, ObservationFilter

MISSING_VALUES = {"zero": 0.0, "nan": np.nan}
"""Names of values that mark a missing number."""


@dataclass
class MovingAverageObservation(ObservationFilter):
    """Shows `mean(o_t, ..., o_(t - window + 1))`; early in an episode, the mean of all observations so far.

    White noise keeps `1 / window` of its variance; motion is seen `(window - 1) / 2` steps late.

    Example:
        >>> from gymnasium import spaces
        >>> from brittlestar.perturbations import Step
        >>> box, average = spaces.Box(-9.0, 9.0, (1,)), MovingAverageObservation(window=2)
        >>> average.bind(box, box, lanes=1)
        >>> [average.mitigate_observation(np.array([[o]]), Step.full(first=o == 1.0)).item() for o in (1.0, 4.0)]
        [1.0, 2.5]
    """

    window: PositiveInt

    def new_filter(self, key: str) -> ArrayFilter:
        return MovingAverage(self.window)


@dataclass
class MedianObservation(ObservationFilter):
    """Shows `median(o_t, ..., o_(t - window + 1))` of each number; early in an episode, the median of all so far.

    Spikes that are shorter than half the window vanish.

    Example:
        >>> from gymnasium import spaces
        >>> from brittlestar.perturbations import Step
        >>> box, median = spaces.Box(-9.0, 9.0, (1,)), MedianObservation(window=3)
        >>> median.bind(box, box, lanes=1)
        >>> [median.mitigate_observation(np.array([[o]]), Step.full(first=o == 0.0)).item() for o in (0.0, 1.0, 99.0)]
        [0.0, 0.5, 1.0]
    """

    window: PositiveInt

    def new_filter(self, key: str) -> ArrayFilter:
        return Median(self.window)


@dataclass
class ExponentialObservation(ObservationFilter):
    """Shows `s = alpha * o + (1 - alpha) * s`; the first observation of an episode passes.

    White noise keeps `alpha / (2 - alpha)` of its variance.

    Example:
        >>> from gymnasium import spaces
        >>> from brittlestar.perturbations import Step
        >>> box, smooth = spaces.Box(-9.0, 9.0, (1,)), ExponentialObservation(alpha=0.25)
        >>> smooth.bind(box, box, lanes=1)
        >>> [smooth.mitigate_observation(np.array([[o]]), Step.full(first=o == 1.0)).item() for o in (1.0, 5.0)]
        [1.0, 2.0]
    """

    alpha: PositiveFraction

    def new_filter(self, key: str) -> ArrayFilter:
        return Exponential(self.alpha)


@dataclass
class HoldLastObservation(ObservationFilter):
    """Shows the last valid number of the episode in place of each missing one; 0 before the first.

    Example:
        >>> from gymnasium import spaces
        >>> from brittlestar.perturbations import Step
        >>> box, hold = spaces.Box(-9.0, 9.0, (2,)), HoldLastObservation(missing="zero")
        >>> hold.bind(box, box, lanes=1)
        >>> [hold.mitigate_observation(np.array([o]), Step.full(first=o[0] == 1))[0].tolist() for o in ([1, 2], [0, 3])]
        [[1, 2], [1, 3]]
    """

    missing: float | str = "zero"
    """Value that marks a missing number: `zero`, `nan`, or a number."""

    def __post_init__(self) -> None:
        if isinstance(self.missing, bool) or not (
            self.missing in MISSING_VALUES or isinstance(self.missing, int | float)
        ):
            meant = nearest(str(self.missing), MISSING_VALUES)
            raise UserError(f"`missing` must be zero, nan or a number, got {self.missing!r}; {meant}")

    def new_filter(self, key: str) -> ArrayFilter:
        return HoldLast(MISSING_VALUES[self.missing] if isinstance(self.missing, str) else float(self.missing))
