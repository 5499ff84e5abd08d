"""Filters of actions: low-pass, moving average, rate limit, hold, tighter bounds."""

from dataclasses import dataclass

import numpy as np
from gymnasium import spaces

from brittlestar.errors import Positive, PositiveFraction, PositiveInt, UserError
from brittlestar.mitigations.array_filters import Exponential, MovingAverage, RateLimit
from brittlestar.mitigations.base import ActionFilter, ArrayFilter, Mitigation
from brittlestar.perturbations.observations import as_dtype
from brittlestar.perturbations.step import Step


@dataclass
class LowPass(ActionFilter):
    """Sends `clip(s)` with `s = alpha * a + (1 - alpha) * s`; the first action of an episode passes.

    Example:
        >>> box, low_pass = spaces.Box(-1.0, 1.0, (1,), np.float32), LowPass(alpha=0.5)
        >>> low_pass.bind(box, box, lanes=1)
        >>> [low_pass.mitigate_action(np.array([[a]]), Step.full(first=a == 1.0)).item() for a in (1.0, 0.0)]
        [1.0, 0.5]
    """

    alpha: PositiveFraction

    def new_filter(self) -> ArrayFilter:
        return Exponential(self.alpha)


@dataclass
class MovingAverageAction(ActionFilter):
    """Sends `clip(mean(a_t, ..., a_(t - window + 1)))`; early in an episode, the mean of all actions so far.

    Example:
        >>> box, average = spaces.Box(-1.0, 1.0, (1,), np.float32), MovingAverageAction(window=2)
        >>> average.bind(box, box, lanes=1)
        >>> [average.mitigate_action(np.array([[a]]), Step.full(first=a == 1.0)).item() for a in (1.0, 0.0)]
        [1.0, 0.5]
    """

    window: PositiveInt

    def new_filter(self) -> ArrayFilter:
        return MovingAverage(self.window)


@dataclass
class RateLimitAction(ActionFilter):
    """Sends `clip(a, s - max_change, s + max_change)` with the last sent action `s`; the first action passes.

    Example:
        >>> box, limit = spaces.Box(-1.0, 1.0, (1,), np.float32), RateLimitAction(max_change=0.25)
        >>> limit.bind(box, box, lanes=1)
        >>> [limit.mitigate_action(np.array([[a]]), Step.full(first=a == 1.0)).item() for a in (1.0, -1.0)]
        [1.0, 0.75]
    """

    max_change: Positive

    def new_filter(self) -> ArrayFilter:
        return RateLimit(self.max_change)

    def mitigate_action(self, action: np.ndarray, step: Step) -> np.ndarray:
        """Clips the action before the filter, so that an action far out of bounds does not delay the return."""
        return super().mitigate_action(np.clip(action, self._low, self._high), step)


@dataclass
class HoldAction(Mitigation):
    """Takes a new action every `steps` steps and repeats it in between; for any action space.

    Example:
        >>> two, hold = spaces.Discrete(2), HoldAction(steps=2)
        >>> hold.bind(two, two, lanes=1)
        >>> [hold.mitigate_action(np.array([a]), Step.full(first=a == 1)).item() for a in (1, 0, 0)]
        [1, 1, 0]
    """

    steps: PositiveInt

    def bind(self, observation_space: spaces.Space, action_space: spaces.Space, lanes: int) -> None:
        self._age = self._held = np.zeros(1, dtype=np.int64)

    def mitigate_action(self, action: np.ndarray, step: Step) -> np.ndarray:
        self._age = np.where(step.first_for(action), 0, (self._age + 1) % self.steps)
        self._held = np.where(self._age == 0, action, self._held).astype(action.dtype, copy=False)
        return self._held


@dataclass
class ClipAction(Mitigation):
    """Sends `clip(a, middle - fraction * half, middle + fraction * half)`, with half the range of the actions.

    Example:
        >>> box, narrow = spaces.Box(0.0, 4.0, (2,), np.float32), ClipAction(fraction=0.5)
        >>> narrow.bind(box, box, lanes=1)
        >>> narrow.mitigate_action(np.array([[0.0, 3.5]]), Step.full()).tolist()
        [[1.0, 3.0]]
    """

    fraction: PositiveFraction

    def bind(self, observation_space: spaces.Space, action_space: spaces.Space, lanes: int) -> None:
        if not isinstance(action_space, spaces.Box) or not action_space.is_bounded():
            raise UserError(f"ClipAction needs a Box action space with finite bounds, got {action_space}")
        low, high = action_space.low.astype(np.float64), action_space.high.astype(np.float64)
        cut = (1 - self.fraction) * (high - low) / 2
        self._low, self._high = low + cut, high - cut

    def mitigate_action(self, action: np.ndarray, step: Step) -> np.ndarray:
        return as_dtype(np.clip(action, self._low, self._high), action.dtype)
