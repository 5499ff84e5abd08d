"""Errors in observations that are names and not numbers: one state is taken for another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces

from brittlestar.errors import UserError, require
from brittlestar.perturbations.base import ObservationPerturbation, Step


@dataclass
class ConfusedObservation(ObservationPerturbation):
    """Shows another state with probability `level * p`: any other one, all equally likely, never the true one.

    Example:
        >>> from brittlestar.randomness import LaneDraws
        >>> confused = ConfusedObservation(p=1.0)
        >>> confused.bind(spaces.Discrete(2), spaces.Discrete(2), lanes=3)
        >>> step = Step(level=np.ones(3), first=np.ones(3, bool), draws=LaneDraws(0, "noise", 3))
        >>> confused.perturb_observation(np.array([0, 1, 0]), step).tolist()
        [1, 0, 1]
    """

    strength_field: ClassVar[str] = "p"
    takes: ClassVar[tuple[type[spaces.Space], ...]] = (spaces.Discrete, spaces.MultiDiscrete)
    p: float

    def __post_init__(self) -> None:
        require(0 <= self.p <= 1, "p", "in [0, 1]", self.p)

    def bind(self, observation_space: spaces.Space, action_space: spaces.Space, lanes: int) -> None:
        """Takes how many states there are."""
        super().bind(observation_space, action_space, lanes)
        self._states: dict[str, tuple[Any, Any]] = {}
        for key, space in self.touched(observation_space):
            found: Any = space
            self._states[key] = (found.n if isinstance(space, spaces.Discrete) else found.nvec), found.start
            if np.min(self._states[key][0]) < 2:
                raise UserError(f"ConfusedObservation needs at least 2 states to choose from, got {space}")

    def perturb(self, array: np.ndarray, step: Step) -> np.ndarray:
        """Moves on by 1 to `count - 1` states, around the end."""
        count, start = self._states[step.key]
        hit = step.draws.uniform(array.shape[1:]) < step.of(self, "p", array)
        move = 1 + np.floor(step.draws.uniform(array.shape[1:]) * (count - 1)).astype(np.int64)
        return np.where(hit, (array - start + move) % count + start, array)
