"""What a mitigation is: a filter between the policy and the perturbed environment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium import spaces

from brittlestar.errors import UserError
from brittlestar.perturbations.base import ObservationPerturbation, Step

if TYPE_CHECKING:
    from brittlestar.perturbations.context import Context
    from brittlestar.policies.base import Policy
    from brittlestar.randomness import LaneDraws

ArrayFilter = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""Takes one array of all lanes per step, and which lanes start an episode (with as many axes); keeps its past."""


@dataclass
class Mitigation:
    """The identity: passes everything on."""

    @property
    def wraps_policy(self) -> bool:
        """Whether `around` returns another policy; such a mitigation cannot act while a learner chooses actions."""
        return type(self).around is not Mitigation.around

    def bind(self, observation_space: spaces.Space, action_space: spaces.Space, lanes: int) -> None:
        """Checks the spaces and forgets all lanes; called once before a rollout."""

    def prepare(self, context: Context) -> None:
        """Takes what it needs beyond the spaces (calibration); called once after `bind`."""

    def around(self, policy: Policy, draws: LaneDraws) -> Policy:
        """Returns the policy that acts in place of `policy`; `draws` is a random stream of its own."""
        return policy

    def mitigate_action(self, action: np.ndarray, step: Step) -> np.ndarray:
        """Returns what is sent in place of the policy's action."""
        return action

    def mitigate_observation(self, observation: Any, step: Step) -> Any:
        """Returns what the policy sees in place of the perturbed observation."""
        return observation


@dataclass
class ActionFilter(Mitigation):
    """Filters continuous actions and clips the result to their bounds: a subclass writes `new_filter()` only."""

    def new_filter(self) -> ArrayFilter:
        """Returns a filter without a past."""
        raise NotImplementedError

    def bind(self, observation_space: spaces.Space, action_space: spaces.Space, lanes: int) -> None:
        """Takes the bounds of the actions and empties the filter."""
        if not isinstance(action_space, spaces.Box):
            raise UserError(f"{type(self).__name__} needs a Box action space, got {action_space}")
        self._low, self._high = action_space.low, action_space.high
        self._filter = self.new_filter()

    def mitigate_action(self, action: np.ndarray, step: Step) -> np.ndarray:
        """Filters; what the filter keeps is not clipped."""
        filtered = self._filter(action, step.first_for(action))
        return as_dtype(np.clip(filtered, self._low, self._high), action.dtype)


@dataclass
class ObservationFilter(Mitigation):
    """Filters the numbers that the policy sees: a subclass writes `new_filter(key)` only."""

    keys: list[str] = field(default_factory=lambda: ["observation"], kw_only=True)
    """Which entries of a dict observation to filter; a plain observation is filtered whole."""

    def new_filter(self, key: str) -> ArrayFilter:
        """Returns a filter without a past for one entry; the key of a plain observation is empty."""
        raise NotImplementedError

    def bind(self, observation_space: spaces.Space, action_space: spaces.Space, lanes: int) -> None:
        """Checks that every key exists and holds numbers, and empties the filters."""
        check_boxes(self, observation_space, self.keys)
        self._filters: dict[str, ArrayFilter] = {}

    def mitigate_observation(self, observation: Any, step: Step) -> Any:
        """Filters every chosen array."""
        if not isinstance(observation, dict):
            return self._filtered("", observation, step)
        return observation | {key: self._filtered(key, observation[key], step) for key in self.keys}

    def _filtered(self, key: str, array: np.ndarray, step: Step) -> np.ndarray:
        if key not in self._filters:
            self._filters[key] = self.new_filter(key)
        return as_dtype(self._filters[key](array, step.first_for(array)), array.dtype)


def check_boxes(owner: Mitigation, space: spaces.Space, keys: list[str]) -> None:
    """Refuses keys that an observation does not have, and entries that hold no numbers to calculate with."""
    for key, entry in ObservationPerturbation(keys=keys).touched(space):
        if not isinstance(entry, spaces.Box):
            where = f"`{key}`" if key else "the observation"
            raise UserError(f"{type(owner).__name__} needs a Box observation, {where} is {entry}")


def as_dtype(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Returns numbers in a dtype, rounded and within its range if it holds whole numbers.

    Example:
        >>> as_dtype(np.array([1.6, 300.0]), np.dtype(np.uint8)).tolist()
        [2, 255]
    """
    if dtype.kind in "iu":
        values = np.clip(np.rint(values), np.iinfo(dtype).min, np.iinfo(dtype).max)
    return values.astype(dtype, copy=False)
