"""What a policy is: `predict` on a batch of lanes, as Stable-Baselines3 has it."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces

from brittlestar.policies.gradients import Answer, GradientError
from brittlestar.randomness import LaneDraws

Space = spaces.Space[Any]

Observation = Any
"""An array with a leading lane axis, or a dict of such arrays."""

Moments = tuple[np.ndarray, np.ndarray]
"""Mean and standard deviation."""


class Policy:
    """Maps a batch of observations to a batch of actions.

    The engine calls `bind` once per cell, then `predict` once per step for all lanes. The result for a
    lane must depend on that lane's observation and state alone, never on the other lanes.
    """

    @property
    def wants_masks(self) -> bool:
        """Whether `predict` takes `action_masks` too.

        These are the choices that are open in the true state, `(lanes, choices)`, or None if the environment does
        not say.
        """
        return False

    def bind(self, observation_space: spaces.Space, action_space: spaces.Space, draws: LaneDraws) -> None:
        """Checks the spaces and keeps what `predict` needs; `draws` is the policy's own random stream."""

    def statistics_of(self, observation_space: spaces.Space) -> dict[str, Moments]:
        """Returns the mean and standard deviation that observations are normalised by; nothing if they are not.

        By entry of a dict observation, `""` for a plain one; flat arrays.
        """
        return {}

    def predict(
        self,
        observation: Observation,
        state: Any = None,
        episode_start: np.ndarray | None = None,
        deterministic: bool = True,
    ) -> tuple[np.ndarray, Any]:
        """Returns the actions, lane axis first, and the state to pass in next time."""
        raise NotImplementedError

    def differentiate(
        self, observation: Observation, state: Any = None, episode_start: np.ndarray | None = None
    ) -> Answer:
        """Returns the answer without chance, and how it moves with the observation; keeps nothing.

        Raises:
            GradientError: the policy has none.
        """
        raise GradientError(
            f"{type(self).__name__} has no gradients: networks have them (`policy=sb3`, `zoo_folder`, `cleanrl`, "
            "`torchscript`), and `perturbation.gradient=numeric` finds those of continuous actions by trying"
        )


def describe(space: Space) -> str:
    """Names a space by kind and shape, short enough for an error message.

    Example:
        >>> describe(spaces.Box(-1.0, 1.0, (4,)))
        'Box(4,)'
        >>> describe(spaces.Dict({"goal": spaces.Box(-1.0, 1.0, (3,)), "mode": spaces.Discrete(2)}))
        'Dict(goal: Box(3,), mode: Discrete(2))'
    """
    if isinstance(space, spaces.Box):
        return f"Box{space.shape}"
    if isinstance(space, spaces.Dict):
        return f"Dict({', '.join(f'{key}: {describe(part)}' for key, part in space.spaces.items())})"
    return " ".join(str(space).split())


def count_lanes(observation: Observation) -> int:
    """Returns the length of the lane axis of an observation.

    Example:
        >>> count_lanes({"observation": np.zeros((5, 10)), "desired_goal": np.zeros((5, 3))})
        5
    """
    return len(next(iter(observation.values())) if isinstance(observation, dict) else observation)


class StatelessPolicy(Policy):
    """A policy that keeps nothing from step to step; a subclass writes `act`.

    Example:
        >>> class Halve(StatelessPolicy):
        ...     def act(self, observation):
        ...         return observation / 2
        >>> Halve().predict(np.ones((2, 1)))[0].tolist()
        [[0.5], [0.5]]
    """

    def predict(
        self,
        observation: Observation,
        state: Any = None,
        episode_start: np.ndarray | None = None,
        deterministic: bool = True,
    ) -> tuple[np.ndarray, Any]:
        """Returns the actions and the state as it came."""
        return self.act(observation), state

    def act(self, observation: Observation) -> np.ndarray:
        """Returns the actions, lane axis first."""
        raise NotImplementedError


class DelegatingPolicy(Policy):
    """A policy that another one acts for: a subclass sets `_policy`."""

    _policy: Policy

    @property
    def wants_masks(self) -> bool:
        """Whether the other policy wants them."""
        return self._policy.wants_masks

    def bind(self, observation_space: spaces.Space, action_space: spaces.Space, draws: LaneDraws) -> None:
        """Passes the spaces on."""
        self._policy.bind(observation_space, action_space, draws)

    def statistics_of(self, observation_space: spaces.Space) -> dict[str, Moments]:
        """Returns those of the other policy."""
        return self._policy.statistics_of(observation_space)

    def predict(
        self,
        observation: Observation,
        state: Any = None,
        episode_start: np.ndarray | None = None,
        deterministic: bool = True,
        **masks: Any,
    ) -> tuple[np.ndarray, Any]:
        """Returns what the other policy answers."""
        return self._policy.predict(observation, state, episode_start, deterministic, **masks)

    def differentiate(
        self, observation: Observation, state: Any = None, episode_start: np.ndarray | None = None
    ) -> Answer:
        """Returns what the other policy answers."""
        return self._policy.differentiate(observation, state, episode_start)
