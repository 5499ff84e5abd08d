"""The base classes of mitigations: filters between the policy and the perturbed environment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium import spaces

from brittlestar.errors import UserError, check_fields
from brittlestar.perturbations.context import Context
from brittlestar.perturbations.observations import MAIN_ENTRY, EntryKeys, as_dtype, check_kinds, chosen_entries
from brittlestar.perturbations.step import Step

if TYPE_CHECKING:
    from brittlestar.policies.base import Policy
    from brittlestar.randomness import LaneDraws

ArrayFilter = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""A filter with memory: takes the array of all lanes and, with as many axes, which lanes start an episode."""


@dataclass
class Mitigation:
    """The identity: changes nothing."""

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def wraps_policy(self) -> bool:
        """Whether `around` returns another policy; such a mitigation cannot act while a learner chooses actions."""
        return type(self).around is not Mitigation.around

    def bind(self, observation_space: spaces.Space, action_space: spaces.Space, lanes: int) -> None:
        """Checks the spaces and resets the state of all lanes; called once before a rollout."""

    def prepare(self, context: Context) -> None:
        """Takes what it needs beyond the spaces (calibration); called once after `bind`."""

    def around(self, policy: Policy, draws: LaneDraws) -> Policy:
        """Returns the policy that acts in place of `policy`; `draws` is the random stream of the mitigation."""
        return policy

    def mitigate_action(self, action: np.ndarray, step: Step) -> np.ndarray:
        """Returns the action that is sent in place of the policy's."""
        return action

    def mitigate_observation(self, observation: Any, step: Step) -> Any:
        """Returns the observation that the policy receives in place of the perturbed one."""
        return observation


@dataclass
class ActionFilter(Mitigation):
    """Filters continuous actions and clips the result to their bounds: a subclass implements `new_filter()`."""

    def new_filter(self) -> ArrayFilter:
        """Returns a new filter."""
        raise NotImplementedError

    def bind(self, observation_space: spaces.Space, action_space: spaces.Space, lanes: int) -> None:
        if not isinstance(action_space, spaces.Box):
            raise UserError(f"{type(self).__name__} needs a Box action space, got {action_space}")
        self._low, self._high = action_space.low, action_space.high
        self._filter = self.new_filter()

    def mitigate_action(self, action: np.ndarray, step: Step) -> np.ndarray:
        """Filters and clips the action; the memory of the filter is not clipped."""
        filtered = self._filter(action, step.first_for(action))
        return as_dtype(np.clip(filtered, self._low, self._high), action.dtype)


@dataclass
class ObservationFilter(Mitigation):
    """Filters the observation: a subclass implements `new_filter(key)`."""

    keys: EntryKeys = field(default_factory=lambda: [MAIN_ENTRY], kw_only=True)
    """Entries of a dict observation to filter; a plain observation is filtered whole."""

    def new_filter(self, key: str) -> ArrayFilter:
        """Returns a new filter for one entry; the key of a plain observation is empty."""
        raise NotImplementedError

    def bind(self, observation_space: spaces.Space, action_space: spaces.Space, lanes: int) -> None:
        check_kinds(self, chosen_entries(observation_space, self.keys))
        self._filters: dict[str, ArrayFilter] = {}

    def mitigate_observation(self, observation: Any, step: Step) -> Any:
        if not isinstance(observation, dict):
            return self._filtered("", observation, step)
        return observation | {key: self._filtered(key, observation[key], step) for key in self.keys}

    def _filtered(self, key: str, array: np.ndarray, step: Step) -> np.ndarray:
        if key not in self._filters:
            self._filters[key] = self.new_filter(key)
        return as_dtype(self._filters[key](array, step.first_for(array)), array.dtype)
