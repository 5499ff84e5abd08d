"""A first-order low-pass filter on actions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from gymnasium import spaces

from brittlestar.errors import UserError, require
from brittlestar.mitigations.base import Mitigation
from brittlestar.perturbations.base import Step


@dataclass
class LowPass(Mitigation):
    """Sends `clip(s)` with `s = alpha * a + (1 - alpha) * s`; the first action of an episode passes.

    Example:
        >>> from brittlestar.randomness import LaneDraws
        >>> box = spaces.Box(-1.0, 1.0, (1,), np.float32)
        >>> low_pass = LowPass(alpha=0.5)
        >>> low_pass.bind(box, box, lanes=1)
        >>> draws = LaneDraws(0, "mitigation", 1)
        >>> first = Step(np.ones(1), np.array([True]), draws)
        >>> later = Step(np.ones(1), np.array([False]), draws)
        >>> [float(low_pass.mitigate_action(np.array([[a]]), s)[0, 0]) for a, s in [(1.0, first), (0.0, later)]]
        [1.0, 0.5]
    """

    alpha: float

    def __post_init__(self) -> None:
        require(0 < self.alpha <= 1, "alpha", "in (0, 1]", self.alpha)

    def bind(self, observation_space: spaces.Space, action_space: spaces.Space, lanes: int) -> None:
        """Takes the bounds of the actions and empties the filter."""
        if not isinstance(action_space, spaces.Box):
            raise UserError(f"LowPass needs a Box action space, got {action_space}")
        self._low, self._high = action_space.low, action_space.high
        self._state = np.zeros((lanes, *action_space.shape))

    def mitigate_action(self, action: np.ndarray, step: Step) -> np.ndarray:
        """Filters; the state is kept unclipped."""
        smooth = self.alpha * action + (1 - self.alpha) * self._state
        first = step.first.reshape(-1, *[1] * (action.ndim - 1))
        self._state = np.where(first, action, smooth)
        return np.clip(self._state, self._low, self._high).astype(action.dtype, copy=False)
