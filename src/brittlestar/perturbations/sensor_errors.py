"""Sensor errors: noise, bias, drift, spikes, a wrong gain, quantisation."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from brittlestar.errors import Finite, Fraction, NonNegative
from brittlestar.perturbations.observations import ObservationPerturbation, ScaledObservation
from brittlestar.perturbations.step import Step

Draw = Literal["fixed", "normal"]
"""How an error that is constant within an episode is drawn."""


@dataclass
class GaussianObservation(ScaledObservation):
    """Adds `level * sigma * unit * N(0, 1)` to every observed number.

    Example:
        >>> noisy = GaussianObservation(sigma=0.1).perturb_observation(np.zeros((2, 3)), Step.full(2))
        >>> noisy.shape, bool(np.all(noisy != 0))
        ((2, 3), True)
    """

    strength_field: ClassVar[str] = "sigma"
    sigma: NonNegative

    def perturb(self, array: np.ndarray, step: Step) -> np.ndarray:
        return array + step.of(self, "sigma", array) * self.unit(step) * step.draws.normal(array.shape[1:])


@dataclass
class UniformObservation(ScaledObservation):
    """Adds `level * width * unit * U(-1, 1)` to every observed number.

    Example:
        >>> noisy = UniformObservation(width=0.1).perturb_observation(np.zeros((2, 3)), Step.full(2))
        >>> bool(0 < np.abs(noisy).max() <= 0.1)
        True
    """

    strength_field: ClassVar[str] = "width"
    width: NonNegative

    def perturb(self, array: np.ndarray, step: Step) -> np.ndarray:
        return array + step.of(self, "width", array) * self.unit(step) * draw_start(array, step)


@dataclass
class BiasObservation(ScaledObservation):
    """Adds `level * bias * unit * d` to every observed number; `d` is 1, or drawn from N(0, 1) for each episode.

    Example:
        >>> BiasObservation(bias=0.5, draw="fixed").perturb_observation(np.zeros((2, 2)), Step.full(2)).tolist()
        [[0.5, 0.5], [0.5, 0.5]]
    """

    strength_field: ClassVar[str] = "bias"
    bias: Finite
    draw: Draw = "normal"
    """`fixed`: the same bias for every number and episode; `normal`: a new one for each."""

    def perturb(self, array: np.ndarray, step: Step) -> np.ndarray:
        return array + step.of(self, "bias", array) * self.unit(step) * per_episode(self.draw, array, step)


@dataclass
class DriftObservation(ScaledObservation):
    """Adds a random walk `d_t = d_{t-1} + level * sigma * unit * N(0, 1)` with `d_0 = 0` to every observed number.

    The level scales the steps of the walk: where it is 0, the drift stays constant.

    Example:
        >>> from gymnasium import spaces
        >>> drift = DriftObservation(sigma=0.1)
        >>> drift.bind(spaces.Box(-1, 1, (3,)), spaces.Discrete(2), lanes=1)
        >>> start, later = (drift.perturb_observation(np.zeros((1, 3)), Step.full(first=t == 0)) for t in range(2))
        >>> bool(start.any()), bool(later.all())
        (False, True)
    """

    strength_field: ClassVar[str] = "sigma"
    sigma: NonNegative

    def perturb(self, array: np.ndarray, step: Step) -> np.ndarray:
        move = step.of(self, "sigma", array) * self.unit(step) * step.draws.normal(array.shape[1:])
        self.memory[step.key] = np.where(step.first_for(array), 0.0, self.memory.get(step.key, 0.0) + move)
        return array + self.memory[step.key]


@dataclass
class SpikeObservation(ScaledObservation):
    """Adds `±height * unit` to an observed number with probability `level * p`, independently at every step.

    Example:
        >>> np.abs(SpikeObservation(p=1.0, height=2.0).perturb_observation(np.zeros((2, 2)), Step.full(2))).tolist()
        [[2.0, 2.0], [2.0, 2.0]]
    """

    strength_field: ClassVar[str] = "p"
    p: Fraction
    height: NonNegative = 1.0

    def perturb(self, array: np.ndarray, step: Step) -> np.ndarray:
        draw = step.draws.uniform(array.shape[1:])
        # The sign comes from a low bit of the same draw, which is independent of the hit and saves a second draw.
        sign = 1.0 - 2.0 * (np.floor(draw * 2.0**40) % 2.0)
        return array + (draw < step.of(self, "p", array)) * sign * step.of(self, "height", array) * self.unit(step)


@dataclass
class RandomSignObservation(ScaledObservation):
    """Adds `level * epsilon * unit * s` with a random sign `s = ±1`: a random corner of the box that attacks search.

    Example:
        >>> np.abs(RandomSignObservation(epsilon=0.5).perturb_observation(np.zeros((1, 3)), Step.full())).tolist()
        [[0.5, 0.5, 0.5]]
    """

    strength_field: ClassVar[str] = "epsilon"
    epsilon: NonNegative

    def perturb(self, array: np.ndarray, step: Step) -> np.ndarray:
        radius = step.of(self, "epsilon", array) * self.unit(step)
        return array + radius * sign(draw_start(array, step))


def per_episode(draw: str, array: np.ndarray, step: Step) -> Any:
    """Returns the factor of an error that is constant within an episode: 1, or N(0, 1) for each number."""
    return 1.0 if draw == "fixed" else step.draws.normal(array.shape[1:], per_episode=True)


def draw_start(array: np.ndarray, step: Step) -> np.ndarray:
    """Draws a point of the box [-1, 1] with the shape of `array`."""
    return 2.0 * step.draws.uniform(array.shape[1:]) - 1.0


def sign(values: np.ndarray) -> np.ndarray:
    """Returns -1 or 1, never 0."""
    return np.where(values < 0, -1.0, 1.0)


@dataclass
class ScaleObservation(ObservationPerturbation):
    """Multiplies every observed number by `1 + level * gain_error * d`; `d` is 1, or N(0, 1) for each episode.

    Example:
        >>> half = ScaleObservation(gain_error=-0.5, draw="fixed")
        >>> half.perturb_observation(np.full((2, 2), 3.0), Step.full(2)).tolist()
        [[1.5, 1.5], [1.5, 1.5]]
    """

    strength_field: ClassVar[str] = "gain_error"
    gain_error: Finite
    draw: Draw = "normal"
    """`fixed`: the same gain for every number and episode; `normal`: a new one for each."""

    def perturb(self, array: np.ndarray, step: Step) -> np.ndarray:
        return array * (1.0 + step.of(self, "gain_error", array) * per_episode(self.draw, array, step))


@dataclass
class QuantisedObservation(ScaledObservation):
    """Rounds every observed number to the nearest multiple of `level * step_size * unit`.

    Example:
        >>> QuantisedObservation(step_size=0.5).perturb_observation(np.array([[0.2, 0.3, -1.6]]), Step.full()).tolist()
        [[0.0, 0.5, -1.5]]
    """

    strength_field: ClassVar[str] = "step_size"
    step_size: NonNegative

    def perturb(self, array: np.ndarray, step: Step) -> np.ndarray:
        size = np.asarray(step.of(self, "step_size", array) * self.unit(step))
        coarse = np.rint(array / np.where(size > 0, size, 1.0)) * size
        return np.where(size > 0, coarse, array)
