"""Worn actuators: noise, bias, backlash, dead band and lost range of continuous actions."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces

from brittlestar.errors import Finite, Fraction, NonNegative, UserError
from brittlestar.perturbations.actions import ActionPerturbation
from brittlestar.perturbations.sensor_errors import Draw, per_episode
from brittlestar.perturbations.step import Step


@dataclass
class GaussianAction(ActionPerturbation):
    """Sends `clip(a + level * sigma * N(0, 1), low, high)` to the environment in place of `a`.

    Example:
        >>> box, noise = spaces.Box(-1.0, 1.0, (3,), np.float32), GaussianAction(sigma=0.5)
        >>> noise.bind(box, box, lanes=2)
        >>> sent = noise.perturb_action(np.zeros((2, 3), np.float32), Step.full(2))
        >>> sent.dtype.name, bool(np.abs(sent).max() <= 1)
        ('float32', True)
    """

    strength_field: ClassVar[str] = "sigma"
    sigma: NonNegative

    def perturb(self, action: np.ndarray, step: Step) -> np.ndarray:
        return action + step.of(self, "sigma", action) * step.draws.normal(action.shape[1:])


@dataclass
class UniformAction(ActionPerturbation):
    """Sends `clip(a + level * width * U(-1, 1), low, high)`.

    Example:
        >>> box, noise = spaces.Box(-1.0, 1.0, (3,), np.float32), UniformAction(width=0.5)
        >>> noise.bind(box, box, lanes=2)
        >>> bool((np.abs(noise.perturb_action(np.zeros((2, 3), np.float32), Step.full(2))) <= 0.5).all())
        True
    """

    strength_field: ClassVar[str] = "width"
    width: NonNegative

    def perturb(self, action: np.ndarray, step: Step) -> np.ndarray:
        return action + step.of(self, "width", action) * (2 * step.draws.uniform(action.shape[1:]) - 1)


@dataclass
class BiasAction(ActionPerturbation):
    """Sends `clip(a + level * bias * weights * d, low, high)`; `d` is 1, or drawn from N(0, 1) for each episode.

    Example:
        >>> box, shift = spaces.Box(-1.0, 1.0, (2,), np.float32), BiasAction(bias=0.25, draw="fixed", weights=[1, -1])
        >>> shift.bind(box, box, lanes=1)
        >>> shift.perturb_action(np.zeros((1, 2), np.float32), Step.full()).tolist()
        [[0.25, -0.25]]
    """

    strength_field: ClassVar[str] = "bias"
    bias: Finite
    draw: Draw = "normal"
    """`fixed`: the same bias for every actuator and episode; `normal`: a new one for each."""
    weights: list[float] | None = None
    """Factor of each actuator; None is 1 for all."""

    def bind(self, observation_space: spaces.Space, action_space: spaces.Space, lanes: int) -> None:
        super().bind(observation_space, action_space, lanes)
        self._weights: Any = 1.0
        if self.weights is not None:
            size = int(np.prod(self._shape))
            if len(self.weights) != size:
                raise UserError(f"`weights` must be {size} numbers, one per actuator, got {self.weights}")
            self._weights = np.reshape(self.weights, self._shape)

    def perturb(self, action: np.ndarray, step: Step) -> np.ndarray:
        return action + step.of(self, "bias", action) * self._weights * per_episode(self.draw, action, step)


@dataclass
class DeadBandAction(ActionPerturbation):
    """Sends 0 for every number with `|a| <= level * width`; with `offset`, `sign(a) * (|a| - width)` for the others.

    Example:
        >>> box, band = spaces.Box(-1.0, 1.0, (3,), np.float32), DeadBandAction(width=0.25)
        >>> band.bind(box, box, lanes=1)
        >>> band.perturb_action(np.array([[0.2, -0.25, 0.5]]), Step.full()).tolist()
        [[0.0, 0.0, 0.5]]
    """

    strength_field: ClassVar[str] = "width"
    width: NonNegative
    offset: bool = False

    def perturb(self, action: np.ndarray, step: Step) -> np.ndarray:
        width, size = step.of(self, "width", action), np.abs(action)
        strong = action - np.sign(action) * width if self.offset else action
        return np.where(size > width, strong, 0.0)


@dataclass
class BacklashAction(ActionPerturbation):
    """Sends `y = clip(y, a - w / 2, a + w / 2)` with `w = level * width`: the backlash of gears, from `y = 0` at reset.

    Example:
        >>> box, play = spaces.Box(-1.0, 1.0, (1,), np.float32), BacklashAction(width=0.5)
        >>> play.bind(box, box, lanes=1)
        >>> [play.perturb_action(np.array([[a]]), Step.full(first=a == 1.0)).item() for a in (1.0, 0.75, 0.0)]
        [0.75, 0.75, 0.25]
    """

    strength_field: ClassVar[str] = "width"
    width: NonNegative

    def perturb(self, action: np.ndarray, step: Step) -> np.ndarray:
        half = np.asarray(step.of(self, "width", action), dtype=np.float64) / 2
        past = np.where(step.first_for(action), 0.0, self._past)
        self._past = np.clip(past, action - half, action + half)
        return self._past


@dataclass
class SaturatedAction(ActionPerturbation):
    """Clips to bounds that shrink by `level * loss` towards the action nearest to zero: `(1 - loss) * [low, high]`.

    Example:
        >>> box, weak = spaces.Box(-2.0, 2.0, (3,), np.float32), SaturatedAction(loss=0.75)
        >>> weak.bind(box, box, lanes=1)
        >>> weak.perturb_action(np.array([[-2.0, 0.25, 1.0]]), Step.full()).tolist()
        [[-0.5, 0.25, 0.5]]
    """

    strength_field: ClassVar[str] = "loss"
    loss: Fraction

    def bind(self, observation_space: spaces.Space, action_space: spaces.Space, lanes: int) -> None:
        super().bind(observation_space, action_space, lanes)
        self.need_bounds()
        self._rest = np.clip(0.0, self._low, self._high)

    def perturb(self, action: np.ndarray, step: Step) -> np.ndarray:
        """Clips to the remaining bounds; without a loss, actions pass unclipped, as without a perturbation."""
        loss = step.of(self, "loss", action)
        low, high = (bound + loss * (self._rest - bound) for bound in (self._low, self._high))
        return np.where(loss > 0, np.clip(action, low, high), action)
