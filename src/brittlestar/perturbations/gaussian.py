"""Gaussian noise on observations and on actions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from gymnasium import spaces

from brittlestar.errors import UserError, require
from brittlestar.perturbations.base import Perturbation, ScaledObservation, Step


@dataclass
class GaussianObservation(ScaledObservation):
    """Adds `level * sigma * unit * N(0, 1)` to every observed number.

    Example:
        >>> import numpy as np
        >>> from brittlestar.randomness import LaneDraws
        >>> step = Step(level=np.ones(2), first=np.ones(2, bool), draws=LaneDraws(0, "noise", 2))
        >>> noisy = GaussianObservation(sigma=0.1).perturb_observation(np.zeros((2, 3)), step)
        >>> noisy.shape, bool(np.all(noisy != 0))
        ((2, 3), True)
    """

    strength_field: ClassVar[str] = "sigma"
    sigma: float

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.sigma >= 0, "sigma", "at least 0", self.sigma)

    def perturb(self, array: np.ndarray, step: Step) -> np.ndarray:
        """Adds the noise."""
        return array + step.of(self, "sigma", array) * self.unit(step) * step.draws.normal(array.shape[1:])


@dataclass
class GaussianAction(Perturbation):
    """Sends `clip(a + level * sigma * N(0, 1), low, high)` to the environment in place of `a`.

    Example:
        >>> import numpy as np
        >>> from brittlestar.randomness import LaneDraws
        >>> box = spaces.Box(-1.0, 1.0, (3,), np.float32)
        >>> noise = GaussianAction(sigma=0.5)
        >>> noise.bind(box, box, lanes=2)
        >>> step = Step(level=np.ones(2), first=np.ones(2, bool), draws=LaneDraws(0, "noise", 2))
        >>> sent = noise.perturb_action(np.zeros((2, 3), np.float32), step)
        >>> sent.dtype.name, bool(np.abs(sent).max() <= 1)
        ('float32', True)
    """

    strength_field: ClassVar[str] = "sigma"
    sigma: float

    def __post_init__(self) -> None:
        require(self.sigma >= 0, "sigma", "at least 0", self.sigma)

    def bind(self, observation_space: spaces.Space, action_space: spaces.Space, lanes: int) -> None:
        """Takes the bounds of the actions."""
        if not isinstance(action_space, spaces.Box):
            raise UserError(f"GaussianAction needs a Box action space, got {action_space}")
        self._low, self._high = action_space.low, action_space.high

    def perturb_action(self, action: np.ndarray, step: Step) -> np.ndarray:
        """Adds the noise and clips to the bounds."""
        noise = step.of(self, "sigma", action) * step.draws.normal(action.shape[1:])
        return np.clip(action + noise, self._low, self._high).astype(action.dtype, copy=False)
