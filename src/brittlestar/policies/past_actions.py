"""A policy whose network also sees the action before each observation."""

from typing import Any

import numpy as np
from gymnasium import spaces

from brittlestar.checkpoints.spaces_text import Space, describe_space
from brittlestar.errors import UserError
from brittlestar.policies.base import Answer, DelegatingPolicy, Moments, Observation, Policy, Prediction, Starts
from brittlestar.randomness import LaneDraws

LAST_ACTION = "last_action"
"""Entry of the network's observation: the action before it, zeros at the start of an episode."""


class RememberingPolicy(DelegatingPolicy):
    """Adds the last action of each lane, as the policy chose it, to what its network sees.

    Args:
        policy: the network, whose observations have the entry `LAST_ACTION`.
        action_space: that of the training.
    """

    def __init__(self, policy: Policy, action_space: Space) -> None:
        if not isinstance(action_space, spaces.Box):
            raise UserError(f"`{LAST_ACTION}` needs continuous actions, got {describe_space(action_space)}")
        self._policy, self._acts = policy, action_space

    def bind(self, observation_space: Space, action_space: Space, draws: LaneDraws) -> None:
        self._policy.bind(with_last_action(observation_space, self._acts), action_space, draws)

    def statistics_of(self, observation_space: Space) -> dict[str, Moments]:
        moments = self._policy.statistics_of(with_last_action(observation_space, self._acts))
        return {key: value for key, value in moments.items() if key != LAST_ACTION}

    def predict(
        self, observation: Observation, state: Any = None, episode_start: Starts = None, *args: Any, **kwargs: Any
    ) -> Prediction:
        seen, inner = self._recall(observation, state, episode_start)
        actions, inner = self._policy.predict(seen, inner, episode_start, *args, **kwargs)
        return actions, (np.array(actions), inner)

    def log_probability(
        self, actions: np.ndarray, observation: Observation, state: Any = None, episode_start: Starts = None
    ) -> np.ndarray | None:
        return self._policy.log_probability(actions, *self._recall(observation, state, episode_start), episode_start)

    def differentiate(self, observation: Observation, state: Any = None, episode_start: Starts = None) -> Answer:
        answer = self._policy.differentiate(*self._recall(observation, state, episode_start), episode_start)

        def pull(gradient: np.ndarray) -> dict[str, np.ndarray]:
            return {key: slope for key, slope in answer.pull(gradient).items() if key != LAST_ACTION}

        return Answer(answer.outputs, pull)

    def _recall(self, observation: Observation, state: Any, first: Starts) -> tuple[Observation, Any]:
        """Returns the observation with the last action, and the state of the network."""
        actions, inner = state or (None, None)
        if actions is None:
            lanes = len(next(iter(observation.values())))
            actions = np.zeros((lanes, *self._acts.shape), self._acts.dtype)
        if first is not None:
            actions = np.where(first.reshape(-1, *[1] * len(self._acts.shape)), actions.dtype.type(0), actions)
        return observation | {LAST_ACTION: actions}, inner


def with_last_action(space: Space, action_space: spaces.Box) -> spaces.Dict:
    """Returns the observations of a network that also sees the last action; refuses observations without names.

    Example:
        >>> space = with_last_action(spaces.Dict({"observation": spaces.Box(-1, 1, (2,))}), spaces.Box(-1, 1, (1,)))
        >>> list(space.spaces)
        ['last_action', 'observation']
    """
    if not isinstance(space, spaces.Dict) or LAST_ACTION in space.spaces:
        raise UserError(f"`{LAST_ACTION}` needs observations by name, without it, got {describe_space(space)}")
    return spaces.Dict({LAST_ACTION: action_space, **space.spaces})
