"""Outdated sensors: delayed, held for some steps, stuck for the rest of the episode."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces

from brittlestar.errors import Fraction, PositiveInt
from brittlestar.perturbations.delays import Delayed
from brittlestar.perturbations.observations import ObservationPerturbation
from brittlestar.perturbations.step import Step, for_lanes

_LONG_AGO = 2**40
_ANY_SPACE = (spaces.Box, spaces.Discrete, spaces.MultiDiscrete, spaces.MultiBinary)
"""A past observation is valid in any space."""


@dataclass
class DelayedObservation(Delayed, ObservationPerturbation):
    """Shows `x_{t-d}` with `d = level * delay_steps + U{0..jitter_steps}`; before that, `x_0`.

    Example:
        >>> late = DelayedObservation(delay_steps=2)
        >>> late.bind(spaces.Box(-1, 1, (1,)), spaces.Discrete(2), lanes=1)
        >>> [late.perturb_observation(np.full((1, 1), t), Step.full(first=t == 0)).item() for t in range(5)]
        [0, 0, 0, 1, 2]
    """

    takes: ClassVar[tuple[type[spaces.Space], ...]] = _ANY_SPACE

    def perturb_observation(self, observation: Any, step: Step) -> Any:
        """Draws one delay for all entries, because they arrive in one message."""
        self._delay = self.draw_delay(step)
        return super().perturb_observation(observation, step)

    def perturb(self, array: np.ndarray, step: Step) -> np.ndarray:
        line = self.memory.setdefault(step.key, self.new_ring())
        line.push(array, step.first)
        return line.past(np.minimum(self._delay, line.age))


@dataclass
class HoldObservation(ObservationPerturbation):
    """Each observed number drops out with probability `level * p` per step and then shows its last value.

    A drop-out lasts `hold_steps` steps; another one in that time starts the count again. In the long run a share of
    `1 - (1 - p)^hold_steps` of the numbers is held. The first observation of an episode is never held.

    Example:
        >>> hold = HoldObservation(p=1.0, hold_steps=3)
        >>> hold.bind(spaces.Box(-1, 1, (1,)), spaces.Discrete(2), lanes=1)
        >>> [hold.perturb_observation(np.full((1, 1), t), Step.full(first=t == 0)).item() for t in range(3)]
        [0, 0, 0]
    """

    takes: ClassVar[tuple[type[spaces.Space], ...]] = _ANY_SPACE
    strength_field: ClassVar[str] = "p"
    p: Fraction
    hold_steps: PositiveInt = 5

    def perturb(self, array: np.ndarray, step: Step) -> np.ndarray:
        """Counts the steps since the last drop-out of each number, and shows the last value while it is held."""
        dropped = step.draws.uniform(array.shape[1:]) < step.of(self, "p", array)
        since, last = self.memory.get(step.key, (np.full(array.shape, _LONG_AGO), array))
        since = np.where(step.first_for(array), _LONG_AGO, np.where(dropped, 0, since + 1))
        held = since < np.rint(step.of(self, "hold_steps", array))
        perturbed = np.where(held, last, array)
        self.memory[step.key] = since, perturbed
        return perturbed


@dataclass
class StuckObservation(ObservationPerturbation):
    """Freezes every observed number with probability `level * p` for the rest of the episode.

    It freezes at a step drawn from `0..within_steps - 1`, with its value at that step, if the episode lasts that long.
    A frozen number remains frozen even if the level falls.

    Example:
        >>> stuck = StuckObservation(p=1.0, within_steps=1)
        >>> stuck.bind(spaces.Box(-1, 1, (1,)), spaces.Discrete(2), lanes=1)
        >>> [stuck.perturb_observation(np.full((1, 1), t), Step.full(first=t == 7)).item() for t in (7, 8, 9)]
        [7, 7, 7]
    """

    takes: ClassVar[tuple[type[spaces.Space], ...]] = _ANY_SPACE
    strength_field: ClassVar[str] = "p"
    p: Fraction
    within_steps: PositiveInt = 50

    def perturb(self, array: np.ndarray, step: Step) -> np.ndarray:
        shape = array.shape[1:]
        fails = step.draws.uniform(shape, per_episode=True) < step.of(self, "p", array)
        onset = np.floor(step.draws.uniform(shape, per_episode=True) * np.rint(step.of(self, "within_steps", array)))
        due = fails & (for_lanes(step.draws.steps, array) >= onset)
        frozen, value = self.memory.get(step.key, (np.zeros(array.shape, dtype=bool), array))
        frozen = frozen & ~step.first_for(array)
        perturbed = np.where(frozen, value, array)
        self.memory[step.key] = frozen | due, perturbed
        return perturbed
