"""Sensors whose numbers are old: delayed, held for a while, stuck for good."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces

from brittlestar.errors import require
from brittlestar.perturbations.base import ObservationPerturbation, Step
from brittlestar.perturbations.delays import check_delay, draw_delay, longest_delay

_LONG_AGO = 2**40
_ANYTHING = (spaces.Box, spaces.Discrete, spaces.MultiDiscrete, spaces.MultiBinary)
"""What was seen before is an observation, whatever its kind."""


@dataclass
class DelayedObservation(ObservationPerturbation):
    """Shows `x_{t-d}` with `d = delay_steps + U{0..jitter_steps}`, and `x_0` before that.

    A scheduled delay is rounded to whole steps; where it is 0, there is no jitter either.

    Example:
        >>> from gymnasium import spaces
        >>> from brittlestar.randomness import LaneDraws
        >>> late, draws = DelayedObservation(delay_steps=2), LaneDraws(0, "noise", 1)
        >>> late.bind(spaces.Box(-1, 1, (1,)), spaces.Discrete(2), lanes=1)
        >>> def seen(t):
        ...     draws.at(np.array([0]), np.array([t]))
        ...     return late.perturb_observation(np.full((1, 1), t), Step(np.ones(1), np.array([t == 0]), draws))
        >>> [int(seen(t).item()) for t in range(5)]
        [0, 0, 0, 1, 2]
    """

    takes: ClassVar[tuple[type[spaces.Space], ...]] = _ANYTHING
    strength_field: ClassVar[str] = "delay_steps"
    delay_steps: int
    jitter_steps: int = 0

    def __post_init__(self) -> None:
        check_delay(self)

    def perturb_observation(self, observation: Any, step: Step) -> Any:
        """Draws one delay for all entries: they come in one message."""
        now = step.draws.steps
        self._sent = now - np.minimum(draw_delay(self, step), now)
        return super().perturb_observation(observation, step)

    def perturb(self, array: np.ndarray, step: Step) -> np.ndarray:
        """Puts the present into a ring, and takes the past out of it."""
        lanes, size = np.arange(len(array)), longest_delay(self) + 1
        if step.key not in self.kept:
            self.kept[step.key] = np.empty((len(array), size, *array.shape[1:]), array.dtype)
        ring = self.kept[step.key]
        ring[lanes, step.draws.steps % size] = array
        return ring[lanes, self._sent % size]


@dataclass
class HoldObservation(ObservationPerturbation):
    """Lets every observed number drop out with probability `level * p` per step: it keeps its last value.

    It does so for `hold_steps` steps; a drop-out while it is held starts them anew. In the long run a share of
    `1 - (1 - p)^hold_steps` of the numbers is held. The first observation of an episode is never held.

    Example:
        >>> from gymnasium import spaces
        >>> from brittlestar.randomness import LaneDraws
        >>> hold, draws = HoldObservation(p=1.0, hold_steps=3), LaneDraws(0, "noise", 1)
        >>> hold.bind(spaces.Box(-1, 1, (1,)), spaces.Discrete(2), lanes=1)
        >>> def seen(t):
        ...     draws.at(np.array([0]), np.array([t]))
        ...     return hold.perturb_observation(np.full((1, 1), t), Step(np.ones(1), np.array([t == 0]), draws))
        >>> [int(seen(t).item()) for t in range(3)]
        [0, 0, 0]
    """

    takes: ClassVar[tuple[type[spaces.Space], ...]] = _ANYTHING
    strength_field: ClassVar[str] = "p"
    p: float
    hold_steps: int = 5

    def __post_init__(self) -> None:
        require(0 <= self.p <= 1, "p", "in [0, 1]", self.p)
        require(self.hold_steps >= 1, "hold_steps", "at least 1", self.hold_steps)

    def perturb(self, array: np.ndarray, step: Step) -> np.ndarray:
        """Counts the steps since each number dropped out, and shows the last value of those that are held."""
        dropped = step.draws.uniform(array.shape[1:]) < step.of(self, "p", array)
        since, last = self.kept.get(step.key, (np.full(array.shape, _LONG_AGO), array))
        since = np.where(step.first_for(array), _LONG_AGO, np.where(dropped, 0, since + 1))
        held = since < np.rint(step.of(self, "hold_steps", array))
        seen = np.where(held, last, array)
        self.kept[step.key] = since, seen
        return seen


@dataclass
class StuckObservation(ObservationPerturbation):
    """Freezes every observed number with probability `level * p` for the rest of the episode.

    It freezes at a step that is drawn for it from `0..within_steps - 1`, with the value that it has there; in an
    episode that ends before, it does not. What is frozen stays so, even where the level falls.

    Example:
        >>> from gymnasium import spaces
        >>> from brittlestar.randomness import LaneDraws
        >>> stuck, draws = StuckObservation(p=1.0, within_steps=1), LaneDraws(0, "noise", 1)
        >>> stuck.bind(spaces.Box(-1, 1, (1,)), spaces.Discrete(2), lanes=1)
        >>> def seen(t):
        ...     draws.at(np.array([0]), np.array([t]))
        ...     return stuck.perturb_observation(np.full((1, 1), 7 + t), Step(np.ones(1), np.array([t == 0]), draws))
        >>> [int(seen(t).item()) for t in range(3)]
        [7, 7, 7]
    """

    takes: ClassVar[tuple[type[spaces.Space], ...]] = _ANYTHING
    strength_field: ClassVar[str] = "p"
    p: float
    within_steps: int = 50

    def __post_init__(self) -> None:
        require(0 <= self.p <= 1, "p", "in [0, 1]", self.p)
        require(self.within_steps >= 1, "within_steps", "at least 1", self.within_steps)

    def perturb(self, array: np.ndarray, step: Step) -> np.ndarray:
        """Freezes what is due."""
        shape = array.shape[1:]
        fails = step.draws.uniform(shape, per_episode=True) < step.of(self, "p", array)
        onset = np.floor(step.draws.uniform(shape, per_episode=True) * np.rint(step.of(self, "within_steps", array)))
        due = fails & (step.draws.steps.reshape(-1, *[1] * len(shape)) >= onset)
        frozen, value = self.kept.get(step.key, (np.zeros(array.shape, dtype=bool), array))
        frozen = frozen & ~step.first_for(array)
        seen = np.where(frozen, value, array)
        self.kept[step.key] = frozen | due, seen
        return seen
