"""The past of every lane in one ring buffer, and the base class of everything that arrives late."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from brittlestar.errors import require
from brittlestar.perturbations.base import Perturbation
from brittlestar.perturbations.step import Step


class LaneRing:
    """The last `length` arrays of all lanes, in a ring; the past of a lane is empty where an episode starts.

    Args:
        length: how many arrays it keeps.
        fill: value of the steps before an episode started.
        dtype: dtype of the arrays; None takes that of the first one.

    Example:
        >>> ring = LaneRing(length=3, fill=0.0)
        >>> for x in (5.0, 6.0, 7.0):
        ...     ring.push(np.array([x, x]), first=np.array([x == 5.0, x == 6.0]))
        >>> ring.past(np.array([1, 2])).tolist(), ring.age.tolist()
        ([6.0, 0.0], [2, 1])
    """

    def __init__(self, length: int, fill: float = 0.0, dtype: Any = None) -> None:
        self._length, self._fill, self._dtype = length, fill, dtype
        self._now = 0
        self._arrays: np.ndarray | None = None
        self.age = np.zeros(0, dtype=np.int64)
        """Steps since the episode of each lane started."""

    def push(self, array: np.ndarray, first: np.ndarray) -> None:
        """Appends an array `(lanes, ...)`; `first`, `(lanes,)`, is true where an episode starts."""
        self._advance(array, first)[self._now] = array

    def add(self, array: np.ndarray, delay: np.ndarray, first: np.ndarray) -> np.ndarray:
        """Adds each lane's value to the sum that is due `delay` steps from now, and returns the sums due now."""
        arrays = self._advance(array, first)
        arrays[self._now - 1] = self._fill
        arrays[(self._now + delay) % self._length, np.arange(len(array))] += array
        return arrays[self._now].copy()

    def past(self, delay: np.ndarray) -> np.ndarray:
        """Returns the array of `delay` steps ago, another delay for each lane."""
        assert self._arrays is not None
        return np.asarray(self._arrays[(self._now - delay) % self._length, np.arange(len(delay))])

    def newest_first(self) -> list[np.ndarray]:
        """Returns all arrays, newest first."""
        assert self._arrays is not None
        return [self._arrays[(self._now - age) % self._length] for age in range(self._length)]

    def _advance(self, array: np.ndarray, first: np.ndarray) -> np.ndarray:
        if self._arrays is None:
            self._arrays = np.full((self._length, *array.shape), self._fill, self._dtype or array.dtype)
            self.age = np.zeros(len(array), dtype=np.int64)
        self._now = (self._now + 1) % self._length
        self.age = np.where(first, 0, self.age + 1)
        if first.any():
            self._arrays[:, first] = self._fill
        return self._arrays


@dataclass
class Delayed(Perturbation):
    """The base class of delays by `d = level * delay_steps + U{0..jitter_steps}` steps.

    A scheduled delay is rounded to whole steps. Where it is 0, there is no jitter.
    """

    strength_field: ClassVar[str] = "delay_steps"
    delay_steps: int
    jitter_steps: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("delay_steps", "jitter_steps"):
            value = getattr(self, name)
            require(value >= 0 and value % 1 == 0, name, "a whole number, at least 0", value)

    def new_ring(self, dtype: Any = None) -> LaneRing:
        """Returns a ring that holds the longest delay."""
        return LaneRing(int(self.delay_steps + self.jitter_steps) + 1, dtype=dtype)

    def draw_delay(self, step: Step) -> np.ndarray:
        """Draws the delay of every lane at this step."""
        delay = np.broadcast_to(np.rint(step.of(self, "delay_steps", step.level)), step.level.shape)
        if self.jitter_steps:
            jitter = np.rint(step.of(self, "jitter_steps", step.level))
            delay = np.where(delay > 0, delay + np.floor(step.draws.uniform() * (jitter + 1)), 0)
        return delay.astype(np.int64)
