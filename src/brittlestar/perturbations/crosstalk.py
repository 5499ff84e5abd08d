"""Cross-talk of actuators: two swapped, or all mixed by a matrix."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from gymnasium import spaces

from brittlestar.errors import Fraction, NonNegative, NonNegativeInt, UserError, require
from brittlestar.perturbations.actions import ActionPerturbation
from brittlestar.perturbations.step import Step
from brittlestar.randomness import generator


@dataclass
class SwappedAction(ActionPerturbation):
    """Swaps two actuators: `a_i, a_j = a_i + w * (a_j - a_i), a_j + w * (a_i - a_j)`.

    `how: blend` takes the weight `w = level * swap` (cross-talk). `how: step` and `how: episode` take `w = 1` with that
    probability in every step or episode (a wrong cable).

    Example:
        >>> box, crossed = spaces.Box(-1.0, 1.0, (3,), np.float32), SwappedAction(swap=1.0, actuators=[0, 2])
        >>> crossed.bind(box, box, lanes=1)
        >>> crossed.perturb_action(np.array([[0.25, 0.5, 0.75]]), Step.full()).tolist()
        [[0.75, 0.5, 0.25]]
    """

    strength_field: ClassVar[str] = "swap"
    swap: Fraction
    actuators: list[int]
    how: Literal["blend", "step", "episode"] = "blend"

    def __post_init__(self) -> None:
        super().__post_init__()
        require(len(set(self.actuators)) == len(self.actuators) == 2, "actuators", "two different", self.actuators)

    def bind(self, observation_space: spaces.Space, action_space: spaces.Space, lanes: int) -> None:
        super().bind(observation_space, action_space, lanes)
        size = int(np.prod(self._shape))
        if not all(0 <= actuator < size for actuator in self.actuators):
            raise UserError(f"`actuators` must be in 0..{size - 1} for {action_space}, got {self.actuators}")
        self._other = np.arange(size)
        self._other[self.actuators] = self.actuators[::-1]

    def perturb(self, action: np.ndarray, step: Step) -> np.ndarray:
        other = action.reshape(len(action), -1)[:, self._other].reshape(action.shape)
        weight = step.of(self, "swap", action)
        if self.how == "blend":
            return action * (1.0 - weight) + other * weight
        uniform = step.draws.uniform((1,) * (action.ndim - 1), per_episode=self.how == "episode")
        return np.where(uniform < weight, other, action)


@dataclass
class MixedAction(ActionPerturbation):
    """Sends `clip((1 - s) * a + s * (R a + sigma * N(0, 1)), low, high)` with `s = level * mix`.

    `R` is `matrix`, or a random orthogonal matrix that depends on `seed` and is the same in all episodes. A single
    actuator is reversed.

    Example:
        >>> box, turned = spaces.Box(-1.0, 1.0, (2,), np.float32), MixedAction(mix=1.0, matrix=[[0, 1], [-1, 0]])
        >>> turned.bind(box, box, lanes=1)
        >>> turned.perturb_action(np.array([[0.5, 0.25]]), Step.full()).tolist()
        [[0.25, -0.5]]
    """

    strength_field: ClassVar[str] = "mix"
    mix: Fraction
    sigma: NonNegative = 0.0
    seed: NonNegativeInt = 0
    matrix: list[list[float]] | None = None

    def bind(self, observation_space: spaces.Space, action_space: spaces.Space, lanes: int) -> None:
        super().bind(observation_space, action_space, lanes)
        size = int(np.prod(self._shape))
        self._matrix = orthogonal(size, self.seed) if self.matrix is None else _square(self.matrix, size)

    def perturb(self, action: np.ndarray, step: Step) -> np.ndarray:
        mix = step.of(self, "mix", action)
        # The rounding of a matrix product would depend on the number of lanes.
        mixed = (action.reshape(len(action), 1, -1) * self._matrix).sum(axis=2).reshape(action.shape)
        if self.sigma:
            mixed = mixed + step.of(self, "sigma", action) * step.draws.normal(action.shape[1:])
        return action * (1.0 - mix) + mixed * mix


def orthogonal(size: int, seed: int) -> np.ndarray:
    """Returns a uniformly distributed rotation or reflection; for one dimension, always the reflection."""
    if size == 1:
        return -np.eye(1)
    basis, triangle = np.linalg.qr(generator(seed, "mixed_action").standard_normal((size, size)))
    # Without the signs of the diagonal, the distribution would not be uniform.
    return np.asarray(basis * np.sign(np.diag(triangle)))


def _square(matrix: list[list[float]], size: int) -> np.ndarray:
    if len(matrix) != size or any(len(row) != size for row in matrix):
        raise UserError(f"`matrix` must be {size} x {size}, one row per actuator, got {matrix}")
    return np.asarray(matrix, dtype=np.float64)
