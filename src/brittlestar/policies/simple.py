"""Policies that need no training: random and constant actions."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium import spaces

from brittlestar.checkpoints.spaces_text import Space, describe_space
from brittlestar.errors import UserError
from brittlestar.policies.base import Observation, StatelessPolicy, count_lanes
from brittlestar.randomness import LaneDraws


class RandomPolicy(StatelessPolicy):
    """Draws every action uniformly from the action space; unbounded numbers are standard normal.

    Example:
        >>> policy = RandomPolicy()
        >>> draws = LaneDraws(seed=0, stream="policy", lanes=3)
        >>> policy.bind(spaces.Box(-1.0, 1.0, (4,)), spaces.Discrete(2), draws)
        >>> policy.predict(np.zeros((3, 4)))[0].shape
        (3,)
    """

    def bind(self, observation_space: Space, action_space: Space, draws: LaneDraws) -> None:
        self._draws, self._dtype = draws, action_space.dtype
        self._sample = self._sampler(action_space)

    def act(self, observation: Observation) -> np.ndarray:
        return self._sample().astype(self._dtype)

    def _sampler(self, space: Space) -> Callable[[], np.ndarray]:
        if isinstance(space, spaces.Box):
            return functools.partial(self._number, space)
        if isinstance(space, spaces.Discrete):
            return functools.partial(self._integer, (), space.start, space.n)
        if isinstance(space, spaces.MultiDiscrete):
            return functools.partial(self._integer, space.shape, space.start, space.nvec)
        if isinstance(space, spaces.MultiBinary):
            return functools.partial(self._integer, space.shape, 0, 2)
        raise UserError(f"random_policy cannot draw actions from {describe_space(space)}")

    def _integer(self, shape: tuple[int, ...], start: Any, count: Any) -> np.ndarray:
        return np.asarray(start + np.floor(self._draws.uniform(shape) * count))

    def _number(self, space: spaces.Box) -> np.ndarray:
        has_low, has_high = np.isfinite(space.low), np.isfinite(space.high)
        low = np.where(has_low, space.low, 0.0).astype(np.float64)
        high = np.where(has_high, space.high, 0.0).astype(np.float64)
        if np.issubdtype(self._dtype, np.integer):
            return self._integer(space.shape, low, high - low + 1.0)
        between = low + self._draws.uniform(space.shape) * (high - low)
        if (has_low & has_high).all():
            return np.asarray(between)
        normal = self._draws.normal(space.shape)
        inward = np.where(has_low, np.abs(normal), np.where(has_high, -np.abs(normal), normal))
        return np.where(has_low & has_high, between, low + high + inward)


@dataclass
class ConstantPolicy(StatelessPolicy):
    """Takes the same `action` at every step; a single number holds for all components.

    Example:
        >>> policy = ConstantPolicy(0.5)
        >>> policy.bind(spaces.Box(-1.0, 1.0, (3,)), spaces.Box(-1.0, 1.0, (2,)), LaneDraws(0, "policy", 2))
        >>> policy.predict(np.zeros((2, 3)))[0].tolist()
        [[0.5, 0.5], [0.5, 0.5]]
    """

    action: float | list[float] = 0.0

    def bind(self, observation_space: Space, action_space: Space, draws: LaneDraws) -> None:
        action, shape = np.asarray(self.action), action_space.shape
        if shape is None or action.shape not in ((), shape):
            raise UserError(f"`action` must be one number or fit {describe_space(action_space)}, got {self.action}")
        action = np.broadcast_to(action, shape)
        # The check below reports a value that the dtype cannot hold.
        with np.errstate(invalid="ignore"):
            self._value = action.astype(action_space.dtype)
        cut = np.issubdtype(self._value.dtype, np.integer) and not np.array_equal(self._value, action)
        if cut or not action_space.contains(self._value):
            raise UserError(f"`action` must lie in {' '.join(str(action_space).split())}, got {self.action}")

    def act(self, observation: Observation) -> np.ndarray:
        return np.repeat(self._value[None], count_lanes(observation), axis=0)
