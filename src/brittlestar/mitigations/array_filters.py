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
    """The mean of the last `window` values, or of all since the start."""

    def __init__(self, window: int) -> None:
        # Adding -0.0 changes no number; adding 0.0 would turn -0.0 into 0.0.
        super().__init__(window, fill=-0.0)

    def __call__(self, array: np.ndarray, first: np.ndarray) -> np.ndarray:
        (newest, *older), count = self._push(array, first)
        total = newest.copy()
        for past in older:
            total += past
        return total / count


class Median(_Window):
    """The median of the last `window` values, or of all since the start."""

    def __init__(self, window: int) -> None:
        # Empty places sort behind all numbers.
        super().__init__(window, fill=np.inf)

    def __call__(self, array: np.ndarray, first: np.ndarray) -> np.ndarray:
        arrays, count = self._push(array, first)
        ordered = np.sort(np.stack(arrays, axis=-1), axis=-1)
        below, above = (np.take_along_axis(ordered, at[..., None], -1)[..., 0] for at in ((count - 1) // 2, count // 2))
        return below + (above - below) / 2


class Exponential:
    """`s = alpha * x + (1 - alpha) * s`, from `s = x`."""

    def __init__(self, alpha: float) -> None:
        self._alpha, self._state = alpha, np.zeros(1)

    def __call__(self, array: np.ndarray, first: np.ndarray) -> np.ndarray:
        self._state = np.where(first, array, self._alpha * array + (1 - self._alpha) * self._state)
        return self._state


class RateLimit:
    """The value nearest to `x` that differs by at most `max_change` from the previous one."""

    def __init__(self, max_change: float) -> None:
        self._max_change, self._state = max_change, np.zeros(1)

    def __call__(self, array: np.ndarray, first: np.ndarray) -> np.ndarray:
        near = np.clip(array, self._state - self._max_change, self._state + self._max_change)
        # `clip` returns 0.0 or -0.0, which are equal, depending on the position of a lane.
        self._state = np.where(first, array, near + 0.0)
        return self._state


class HoldLast:
    """The last valid value in place of each one that equals `missing`; 0 before the first."""

    def __init__(self, missing: float) -> None:
        self._missing, self._held = missing, np.zeros(1)

    def __call__(self, array: np.ndarray, first: np.ndarray) -> np.ndarray:
        missing = np.isnan(array) if np.isnan(self._missing) else array == self._missing
        self._held = np.where(missing, np.where(first, 0, self._held), array)
        return self._held
