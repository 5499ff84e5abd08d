"""A first-order low-pass filter on actions."""

from __future__ import annotations

from dataclasses import dataclass

from brittlestar.errors import require
from brittlestar.mitigations.array_filters import Exponential
from brittlestar.mitigations.base import ActionFilter, ArrayFilter


@dataclass
class LowPass(ActionFilter):
    """Sends `clip(s)` with `s = alpha * a + (1 - alpha) * s`; the first action of an episode passes.

    Example:
        >>> import numpy as np
        >>> from gymnasium import spaces
        >>> from brittlestar.perturbations import Step
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

    def new_filter(self) -> ArrayFilter:
        """Returns the filter."""
        return Exponential(self.alpha)
