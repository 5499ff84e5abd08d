"""A first-order low-pass filter of actions."""

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
        >>> box, low_pass = spaces.Box(-1.0, 1.0, (1,), np.float32), LowPass(alpha=0.5)
        >>> low_pass.bind(box, box, lanes=1)
        >>> [low_pass.mitigate_action(np.array([[a]]), Step.full(first=a == 1.0)).item() for a in (1.0, 0.0)]
        [1.0, 0.5]
    """

    alpha: float

    def __post_init__(self) -> None:
        require(0 < self.alpha <= 1, "alpha", "in (0, 1]", self.alpha)

    def new_filter(self) -> ArrayFilter:
        """Returns the filter."""
        return Exponential(self.alpha)
