"""Confused observations of discrete states."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces

from brittlestar.errors import UserError, require
from brittlestar.perturbations.observations import ObservationPerturbation
from brittlestar.perturbations.step import Step


@dataclass
class ConfusedObservation(ObservationPerturbation):
    """Shows a wrong state with probability `level * p`, each with equal probability.

    Example:
        >>> confused = ConfusedObservation(p=1.0)
        >>> confused.bind(spaces.Discrete(2), spaces.Discrete(2), lanes=3)
        >>> confused.perturb_observation(np.array([0, 1, 0]), Step.full(3)).tolist()
        [1, 0, 1]
    """

    strength_field: ClassVar[str] = "p"
    takes: ClassVar[tuple[type[spaces.Space], ...]] = (spaces.Discrete, spaces.MultiDiscrete)
    p: float

    def __post_init__(self) -> None:
        require(0 <= self.p <= 1, "p", "in [0, 1]", self.p)

    def bind(self, observation_space: spaces.Space, action_space: spaces.Space, lanes: int) -> None:
        """Takes the number of states."""
        super().bind(observation_space, action_space, lanes)
        self._states: dict[str, tuple[Any, Any]] = {}
        space: Any
        for key, space in self.touched(observation_space):
            self._states[key] = (space.n if isinstance(space, spaces.Discrete) else space.nvec), space.start
            if np.min(self._states[key][0]) < 2:
                raise UserError(f"ConfusedObservation needs at least 2 states to choose from, got {space}")

    def perturb(self, array: np.ndarray, step: Step) -> np.ndarray:
        """Replaces states at random."""
        hit = step.draws.uniform(array.shape[1:]) < step.of(self, "p", array)
        return np.where(hit, another(array, *self._states[step.key], step.draws.uniform(array.shape[1:])), array)


def another(values: np.ndarray, count: Any, start: Any, uniform: np.ndarray) -> np.ndarray:
    """Returns another of `count` values from `start` on, each with equal probability, for uniform random numbers.

    Example:
        >>> another(np.array([0, 1, 2]), 3, 0, np.array([0.0, 0.0, 0.9])).tolist()
        [1, 2, 1]
    """
    return np.asarray((values - start + 1 + np.floor(uniform * (count - 1)).astype(np.int64)) % count + start)
