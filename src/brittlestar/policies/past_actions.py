"""A policy whose network also sees its past actions."""

from typing import Any

import numpy as np
from gymnasium import spaces

from brittlestar.checkpoints.spaces_text import Space, describe_space
from brittlestar.errors import UserError
from brittlestar.policies.base import Answer, DelegatingPolicy, Moments, Observation, Policy, Prediction, Starts
from brittlestar.randomness import LaneDraws

LAST_ACTION = "last_action"
"""Entry of the network's observation: the action before it, zeros at the start of an episode."""
ACTION_SUM = "action_sum"
"""Entry of the network's observation: the sum of all actions since the start of the episode."""

Memory = dict[str, np.ndarray]
"""The entries of past actions, with a row for each lane."""


class RememberingPolicy(DelegatingPolicy):
    """Adds the past actions of each lane, as the policy chose them, to what its network sees.

    Args:
        policy: the network, whose observations have the entry `LAST_ACTION`.
        action_space: that of the training.
        summed: whether they have the entry `ACTION_SUM`, too.
    """

    def __init__(self, policy: Policy, action_space: Space, summed: bool = False) -> None:
        if not isinstance(action_space, spaces.Box):
            raise UserError(f"`{LAST_ACTION}` needs continuous actions, got {describe_space(action_space)}")
        self._policy, self._acts, self._summed = policy, action_space, summed

    def bind(self, observation_space: Space, action_space: Space, draws: LaneDraws) -> None:
        self._policy.bind(self._seen(observation_space), action_space, draws)

    def statistics_of(self, observation_space: Space) -> dict[str, Moments]:
        return _observed(self._policy.statistics_of(self._seen(observation_space)))

    def _seen(self, observation_space: Space) -> spaces.Dict:
        return with_past_actions(observation_space, self._acts, self._summed)

    def predict(
        self, observation: Observation, state: Any = None, episode_start: Starts = None, *args: Any, **kwargs: Any
    ) -> Prediction:
        memory, inner = self._recall(observation, state, episode_start)
        actions, inner = self._policy.predict(observation | memory, inner, episode_start, *args, **kwargs)
        return actions, (remember(memory, actions), inner)

    def log_probability(
        self, actions: np.ndarray, observation: Observation, state: Any = None, episode_start: Starts = None
    ) -> np.ndarray | None:
        memory, inner = self._recall(observation, state, episode_start)
        return self._policy.log_probability(actions, observation | memory, inner, episode_start)

    def differentiate(self, observation: Observation, state: Any = None, episode_start: Starts = None) -> Answer:
        memory, inner = self._recall(observation, state, episode_start)
        answer = self._policy.differentiate(observation | memory, inner, episode_start)
        return Answer(answer.outputs, lambda gradient: _observed(answer.pull(gradient)))

    def _recall(self, observation: Observation, state: Any, first: Starts) -> tuple[Memory, Any]:
        """Returns the past actions of all lanes, and the state of the network."""
        lanes = len(next(iter(observation.values())))
        memory, inner = state or (no_actions(lanes, self._acts, self._summed), None)
        return (memory if first is None else forget(memory, first)), inner


def no_actions(lanes: int, action_space: spaces.Box, summed: bool) -> Memory:
    """Returns the entries of lanes at the start of their episodes."""
    keys = (LAST_ACTION, ACTION_SUM) if summed else (LAST_ACTION,)
    return {key: np.zeros((lanes, *action_space.shape), action_space.dtype) for key in keys}


def remember(memory: Memory, actions: np.ndarray) -> Memory:
    """Returns the entries after an action of every lane.

    Example:
        >>> memory = no_actions(1, spaces.Box(-1, 1, (1,)), summed=True)
        >>> remember(remember(memory, np.array([[0.5]])), np.array([[1.0]]))
        {'last_action': array([[1.]], dtype=float32), 'action_sum': array([[1.5]], dtype=float32)}
    """
    after = {LAST_ACTION: np.array(actions, memory[LAST_ACTION].dtype)}
    return after | {ACTION_SUM: memory[ACTION_SUM] + after[LAST_ACTION]} if ACTION_SUM in memory else after


def forget(memory: Memory, lanes: np.ndarray) -> Memory:
    """Returns the entries with zeros in some lanes, given as a mask."""
    return {
        key: np.where(lanes.reshape(-1, *[1] * (values.ndim - 1)), values.dtype.type(0), values)
        for key, values in memory.items()
    }


def _observed(parts: dict[str, Any]) -> dict[str, Any]:
    return {key: part for key, part in parts.items() if key not in (LAST_ACTION, ACTION_SUM)}


def with_past_actions(space: Space, action_space: spaces.Box, summed: bool) -> spaces.Dict:
    """Returns the observations of a network that also sees past actions; refuses observations without names.

    Example:
        >>> space = spaces.Dict({"observation": spaces.Box(-1, 1, (2,))})
        >>> list(with_past_actions(space, spaces.Box(-1, 1, (1,)), summed=True).spaces)
        ['action_sum', 'last_action', 'observation']
    """
    if not isinstance(space, spaces.Dict) or {LAST_ACTION, ACTION_SUM} & space.spaces.keys():
        raise UserError(f"`{LAST_ACTION}` needs observations by name, without it, got {describe_space(space)}")
    sums = {ACTION_SUM: spaces.Box(-np.inf, np.inf, action_space.shape, action_space.dtype)} if summed else {}
    return spaces.Dict(sums | {LAST_ACTION: action_space, **space.spaces})
