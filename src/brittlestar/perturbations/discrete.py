"""Wrong discrete states and actions: random ones, or a fixed permutation."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces

from brittlestar.errors import Fraction, UserError, require
from brittlestar.perturbations.actions import ActionPerturbation
from brittlestar.perturbations.observations import ObservationPerturbation
from brittlestar.perturbations.step import Step
from brittlestar.randomness import generator


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
    p: Fraction

    def bind(self, observation_space: spaces.Space, action_space: spaces.Space, lanes: int) -> None:
        super().bind(observation_space, action_space, lanes)
        self._states: dict[str, tuple[Any, Any]] = {}
        space: Any
        for key, space in self.touched(observation_space):
            self._states[key] = (space.n if isinstance(space, spaces.Discrete) else space.nvec), space.start
            if np.min(self._states[key][0]) < 2:
                raise UserError(f"ConfusedObservation needs at least 2 states to choose from, got {space}")

    def perturb(self, array: np.ndarray, step: Step) -> np.ndarray:
        hit = step.draws.uniform(array.shape[1:]) < step.of(self, "p", array)
        return np.where(hit, another(array, *self._states[step.key], step.draws.uniform(array.shape[1:])), array)


@dataclass
class RandomAction(ActionPerturbation):
    """Sends another action with probability `level * p`; for a Box, one drawn uniformly from its range.

    Example:
        >>> wrong = RandomAction(p=1.0)
        >>> wrong.bind(spaces.Discrete(2), spaces.Discrete(2), lanes=2)
        >>> wrong.perturb_action(np.array([0, 1]), Step.full(2)).tolist()
        [1, 0]
    """

    kinds: ClassVar[tuple[type[spaces.Space], ...]] = (spaces.Box, spaces.Discrete)
    strength_field: ClassVar[str] = "p"
    p: Fraction

    def bind(self, observation_space: spaces.Space, action_space: spaces.Space, lanes: int) -> None:
        super().bind(observation_space, action_space, lanes)
        self.need_bounds()
        if self._discrete:
            _check_size(self, action_space)

    def perturb(self, action: np.ndarray, step: Step) -> np.ndarray:
        hit = self.hit(step.of(self, "p", action), step, action)
        uniform = step.draws.uniform(action.shape[1:])
        return np.where(hit, self._other(action, uniform), action)

    def _other(self, action: np.ndarray, uniform: np.ndarray) -> np.ndarray:
        if not isinstance(self._space, spaces.Discrete):
            return np.asarray(self._low + uniform * (np.asarray(self._high) - self._low))
        return another(action, int(self._space.n), int(self._space.start), uniform)


@dataclass
class PermutedAction(ActionPerturbation):
    """Sends `permutation[a]` with probability `level * p`.

    Without `permutation`, it draws one cycle through all actions, so that every action changes. The cycle depends on
    `seed` and is the same in all episodes; `seed: null` draws a new one in every episode.

    Example:
        >>> confused = PermutedAction(p=1.0, permutation=[1, 2, 0])
        >>> confused.bind(spaces.Discrete(3), spaces.Discrete(3), lanes=3)
        >>> confused.perturb_action(np.array([0, 1, 2]), Step.full(3)).tolist()
        [1, 2, 0]
    """

    kinds: ClassVar[tuple[type[spaces.Space], ...]] = (spaces.Discrete,)
    strength_field: ClassVar[str] = "p"
    p: Fraction
    seed: int | None = 0
    permutation: list[int] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.seed is None or self.seed >= 0, "seed", "null or at least 0", self.seed)
        if self.permutation is not None:
            order, places = list(self.permutation), list(range(len(self.permutation)))
            require(sorted(order) == places != order, "permutation", f"another order of {places}", order)

    def bind(self, observation_space: spaces.Space, action_space: spaces.Space, lanes: int) -> None:
        super().bind(observation_space, action_space, lanes)
        size = _check_size(self, action_space)
        if self.permutation is not None and len(self.permutation) != size:
            raise UserError(f"`permutation` must have {size} places for {action_space}, got {self.permutation}")
        self._lanes, self._start = np.arange(lanes), int(getattr(action_space, "start", 0))
        self._tables = np.zeros((lanes, size), dtype=np.int64)
        if self.permutation is not None:
            self._tables[:] = self.permutation
        elif self.seed is not None:
            self._tables[:] = cycles(generator(self.seed, "permuted_action").random((1, size)))

    def perturb(self, action: np.ndarray, step: Step) -> np.ndarray:
        hit = self.hit(step.of(self, "p", action), step, action)
        if self.permutation is None and self.seed is None and step.first.any():
            uniform = step.draws.uniform(self._tables.shape[1:], per_episode=True)
            self._tables[step.first] = cycles(uniform)[step.first]
        places = action - self._start
        if (places < 0).any() or (places >= self._tables.shape[1]).any():
            raise UserError(f"PermutedAction needs actions of {self._space}, got {action.min()} to {action.max()}")
        return np.where(hit, self._tables[self._lanes, places] + self._start, action)


def another(values: np.ndarray, count: Any, start: Any, uniform: np.ndarray) -> np.ndarray:
    """Returns another of `count` values from `start` on, each with equal probability, for uniform random numbers.

    Example:
        >>> another(np.array([0, 1, 2]), 3, 0, np.array([0.0, 0.0, 0.9])).tolist()
        [1, 2, 1]
    """
    return np.asarray((values - start + 1 + np.floor(uniform * (count - 1)).astype(np.int64)) % count + start)


def cycles(uniform: np.ndarray) -> np.ndarray:
    """Turns uniform numbers `(n, size)` into permutations `(n, size)` that are single cycles.

    Example:
        >>> cycles(np.array([[0.1, 0.9, 0.5]])).tolist()
        [[2, 0, 1]]
    """
    order = np.argsort(uniform, axis=1)
    permutations = np.empty_like(order)
    np.put_along_axis(permutations, order, np.roll(order, -1, axis=1), axis=1)
    return permutations


def _check_size(owner: ActionPerturbation, space: spaces.Space) -> int:
    assert isinstance(space, spaces.Discrete)
    if space.n < 2:
        raise UserError(f"{type(owner).__name__} needs at least two actions, got {space}")
    return int(space.n)
