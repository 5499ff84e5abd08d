"""Filters over time for arrays of lanes; the past of a lane is empty where an episode starts.

A filter takes an array `(lanes, ...)` and `first`, which is true where an episode starts, as `(lanes, 1, ...)`. Sums
run from the newest to the oldest array, so that the result of a lane depends on that lane only.
"""

import numpy as np

from brittlestar.perturbations.delays import LaneRing
from brittlestar.perturbations.step import for_lanes


class _Window:
    """The last `length` arrays; subclasses reduce them."""

    def __init__(self, length: int, fill: float) -> None:
        self._length, self._ring = length, LaneRing(length, fill, np.float64)

    def _push(self, array: np.ndarray, first: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
        """Returns all arrays, newest first, and how many of them each lane has filled."""
        self._ring.push(array, first.reshape(len(first)))
        return self._ring.newest_first(), for_lanes(np.minimum(self._ring.age + 1, self._length), array)


class MovingAverage(_Window):
    """The mean of the last `window` values, or of all since the start.

    Example:
        >>> average, later = MovingAverage(2), np.array([[False]])
        >>> [float(average(np.array([[x]]), later ^ (x == 3.0))[0, 0]) for x in (3.0, 5.0, 9.0)]
        [3.0, 4.0, 7.0]
    """

    def __init__(self, window: int) -> None:
        # Adding -0.0 changes no number; adding 0.0 would turn -0.0 into 0.0.
        super().__init__(window, fill=-0.0)

    def __call__(self, array: np.ndarray, first: np.ndarray) -> np.ndarray:
        """Returns the mean."""
        (newest, *others), count = self._push(array, first)
        total = newest.copy()
        for past in others:
            total += past
        return total / count


class Median(_Window):
    """The median of the last `window` values, or of all since the start.

    Example:
        >>> median, later = Median(3), np.array([[False]])
        >>> [float(median(np.array([[x]]), later ^ (x == 3.0))[0, 0]) for x in (3.0, 99.0, 4.0)]
        [3.0, 51.0, 4.0]
    """

    def __init__(self, window: int) -> None:
        # Empty places sort behind all numbers.
        super().__init__(window, fill=np.inf)

    def __call__(self, array: np.ndarray, first: np.ndarray) -> np.ndarray:
        """Returns the median."""
        arrays, count = self._push(array, first)
        ordered = np.sort(np.stack(arrays, axis=-1), axis=-1)
        below, above = (np.take_along_axis(ordered, at[..., None], -1)[..., 0] for at in ((count - 1) // 2, count // 2))
        return below + (above - below) / 2


class Exponential:
    """`s = alpha * x + (1 - alpha) * s`, from `s = x`.

    Example:
        >>> smooth, later = Exponential(0.5), np.array([[False]])
        >>> [float(smooth(np.array([[x]]), later ^ (x == 3.0))[0, 0]) for x in (3.0, 5.0, 9.0)]
        [3.0, 4.0, 6.5]
    """

    def __init__(self, alpha: float) -> None:
        self._alpha = alpha
        self._state = np.zeros(1)

    def __call__(self, array: np.ndarray, first: np.ndarray) -> np.ndarray:
        """Returns the new state."""
        smooth = self._alpha * array + (1 - self._alpha) * self._state
        self._state = np.where(first, array, smooth)
        return self._state


class RateLimit:
    """The value nearest to `x` that differs by at most `max_change` from the previous one.

    Example:
        >>> limit, later = RateLimit(0.5), np.array([[False]])
        >>> [float(limit(np.array([[x]]), later ^ (x == 3.0))[0, 0]) for x in (3.0, 5.0, 3.25)]
        [3.0, 3.5, 3.25]
    """

    def __init__(self, max_change: float) -> None:
        self._max_change = max_change
        self._state = np.zeros(1)

    def __call__(self, array: np.ndarray, first: np.ndarray) -> np.ndarray:
        """Returns the limited value."""
        near = np.clip(array, self._state - self._max_change, self._state + self._max_change)
        # `clip` returns 0.0 or -0.0, which are equal, depending on the position of a lane.
        self._state = np.where(first, array, near + 0.0)
        return self._state


class Hold:
    """Every `steps`-th value, repeated until the next.

    Example:
        >>> hold = Hold(2)
        >>> [int(hold(np.array([x]), np.array([x == 3]))[0]) for x in (3, 4, 5, 6)]
        [3, 3, 5, 5]
    """

    def __init__(self, steps: int) -> None:
        self._steps = steps
        self._age = self._held = np.zeros(1, dtype=np.int64)

    def __call__(self, array: np.ndarray, first: np.ndarray) -> np.ndarray:
        """Returns the held value."""
        self._age = np.where(first, 0, (self._age + 1) % self._steps)
        self._held = np.where(self._age == 0, array, self._held).astype(array.dtype, copy=False)
        return self._held


class HoldLast:
    """The last valid value in place of each one that equals `missing`; 0 before the first.

    Example:
        >>> hold = HoldLast(missing=np.nan)
        >>> [float(hold(np.array([x]), np.array([x == 3]))[0]) for x in (3, np.nan, 5.0)]
        [3.0, 3.0, 5.0]
    """

    def __init__(self, missing: float) -> None:
        self._missing = missing
        self._held = np.zeros(1)

    def __call__(self, array: np.ndarray, first: np.ndarray) -> np.ndarray:
        """Returns the array without missing values."""
        missing = np.isnan(array) if np.isnan(self._missing) else array == self._missing
        self._held = np.where(missing, np.where(first, 0, self._held), array)
        return self._held
