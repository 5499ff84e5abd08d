"""Filters over time for arrays of lanes; the past of a lane ends where an episode starts.

Each is called with an array `(lanes, ...)` and with `first`, which says by lane whether an episode starts, as
`(lanes, 1, ...)`. Sums run from the newest value to the oldest, one array after the other, so that a lane's result
depends neither on the number of lanes nor on when its episode began.
"""

from __future__ import annotations

from collections import deque

import numpy as np


class Window:
    """Keeps the last `length` arrays, newest first; `fill` stands where a lane has no past yet."""

    def __init__(self, length: int, fill: float) -> None:
        self._arrays: deque[np.ndarray] = deque(maxlen=length)
        self._length, self._fill = length, fill
        self._count = np.zeros(1, dtype=np.int64)

    def push(self, array: np.ndarray, first: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
        """Takes an array and returns all that are kept, and how many of them each lane has filled."""
        if first.any():
            lanes = first.reshape(len(first))
            for past in self._arrays:
                past[lanes] = self._fill
        self._arrays.appendleft(array.astype(np.float64))
        self._count = np.where(first, 1, np.minimum(self._count + 1, self._length))
        return list(self._arrays), self._count


class MovingAverage:
    """The mean of the last `window` values, or of all since the start.

    Example:
        >>> average, later = MovingAverage(2), np.array([[False]])
        >>> [float(average(np.array([[x]]), later ^ (x == 3.0))[0, 0]) for x in (3.0, 5.0, 9.0)]
        [3.0, 4.0, 7.0]
    """

    def __init__(self, window: int) -> None:
        # The one number that changes nothing when it is added: 0 would turn -0 into 0.
        self._window = Window(window, fill=-0.0)

    def __call__(self, array: np.ndarray, first: np.ndarray) -> np.ndarray:
        """Returns the mean."""
        (newest, *others), count = self._window.push(array, first)
        total = newest.copy()
        for past in others:
            total += past
        return total / count


class Median:
    """The median of the last `window` values, or of all since the start.

    Example:
        >>> median, later = Median(3), np.array([[False]])
        >>> [float(median(np.array([[x]]), later ^ (x == 3.0))[0, 0]) for x in (3.0, 99.0, 4.0)]
        [3.0, 51.0, 4.0]
    """

    def __init__(self, window: int) -> None:
        # What is not filled yet sorts behind everything.
        self._window = Window(window, fill=np.inf)

    def __call__(self, array: np.ndarray, first: np.ndarray) -> np.ndarray:
        """Returns the median."""
        arrays, count = self._window.push(array, first)
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
    """The value nearest to `x` that is at most `max_change` from the one before.

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
        # Of 0 and -0, which are equal, `clip` takes one or the other by the place of a lane.
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
    """The last value that was there, in place of each one that equals `missing`; 0 before the first.

    Example:
        >>> hold = HoldLast(missing=np.nan)
        >>> [float(hold(np.array([x]), np.array([x == 3]))[0]) for x in (3, np.nan, 5.0)]
        [3.0, 3.0, 5.0]
    """

    def __init__(self, missing: float) -> None:
        self._missing = missing
        self._held = np.zeros(1)

    def __call__(self, array: np.ndarray, first: np.ndarray) -> np.ndarray:
        """Returns the array without gaps."""
        gone = np.isnan(array) if np.isnan(self._missing) else array == self._missing
        self._held = np.where(gone, np.where(first, 0, self._held), array)
        return self._held
