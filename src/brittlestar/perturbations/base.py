"""What a perturbation is: array code over lanes, a strength, and five channels it may touch."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces

from brittlestar.errors import UserError, nearest
from brittlestar.randomness import LaneDraws


@dataclass
class Step:
    """Where the lanes are: what a perturbation or mitigation gets beside the data.

    Attributes:
        level: `(lanes,)` in [0, 1], from the stress schedule; multiplies the strength.
        first: `(lanes,)`, true at the first call of an episode: forget the lane's past.
        draws: random numbers, one stream per lane.
    """

    level: np.ndarray
    first: np.ndarray
    draws: LaneDraws

    def level_for(self, array: np.ndarray) -> np.ndarray:
        """Returns the level with as many axes as `array`, to multiply with it."""
        return self.level.reshape(-1, *[1] * (array.ndim - 1))

    def part(self, name: str, scale: float) -> Step:
        """Returns the step as one part of a composition sees it."""
        return Step(self.level * scale, self.first, self.draws.child(name))


@dataclass
class Perturbation:
    """The identity: changes nothing.

    A subclass is a dataclass whose fields are its parameters, checked in `__post_init__`, and overrides
    the channels that it touches. Arrays carry a leading lane axis; dtype, shape and keys are kept.
    """

    strength_field: ClassVar[str | None] = None
    """Name of the field that is the strength: the x axis of the curve. 0 is exactly the identity."""

    @property
    def strength(self) -> float:
        """The value of the strength field."""
        return 0.0 if self.strength_field is None else float(getattr(self, self.strength_field))

    @property
    def is_identity(self) -> bool:
        """Whether nothing can be changed: then the cell is the same as one without a perturbation."""
        return self.strength == 0

    def bind(self, observation_space: spaces.Space, action_space: spaces.Space, lanes: int) -> None:
        """Checks the spaces and forgets all lanes; called once before a rollout."""

    def observation_space(self, space: spaces.Space) -> spaces.Space:
        """Returns the space that perturbed observations lie in."""
        return space

    def perturb_observation(self, observation: Any, step: Step) -> Any:
        """Returns what the policy will see in place of `observation`."""
        return observation

    def perturb_action(self, action: np.ndarray, step: Step) -> np.ndarray:
        """Returns what the environment will get in place of `action`."""
        return action

    def perturb_reward(self, reward: np.ndarray, step: Step) -> np.ndarray:
        """Returns the reward a learner will see in place of `reward`; scores use the true one."""
        return reward


@dataclass
class ObservationPerturbation(Perturbation):
    """Perturbs one array at a time: a subclass writes `perturb(array, step)` only."""

    keys: list[str] = field(default_factory=lambda: ["observation"], kw_only=True)
    """Which entries of a dict observation to touch; a plain observation is touched whole."""

    def perturb(self, array: np.ndarray, step: Step) -> np.ndarray:
        """Returns the perturbed array; the dtype is restored by the caller."""
        raise NotImplementedError

    def bind(self, observation_space: spaces.Space, action_space: spaces.Space, lanes: int) -> None:
        """Checks that every key exists and holds numbers."""
        for key, space in self._touched(observation_space):
            if not isinstance(space, spaces.Box):
                where = f"`{key}`" if key else "the observation"
                raise UserError(f"{type(self).__name__} needs a Box observation, {where} is {space}")

    def observation_space(self, space: spaces.Space) -> spaces.Space:
        """Removes the bounds of what is touched: a disturbed sensor may leave its range."""
        if isinstance(space, spaces.Dict):
            touched = dict(self._touched(space))
            return spaces.Dict({k: _unbounded(s) if k in touched else s for k, s in space.items()})
        return _unbounded(space)

    def perturb_observation(self, observation: Any, step: Step) -> Any:
        """Applies `perturb` to every touched array."""
        if not isinstance(observation, dict):
            return self._kept_dtype(observation, step)
        return observation | {key: self._kept_dtype(observation[key], step) for key in self.keys}

    def _kept_dtype(self, array: np.ndarray, step: Step) -> np.ndarray:
        return self.perturb(array, step).astype(array.dtype, copy=False)

    def _touched(self, space: spaces.Space) -> list[tuple[str, spaces.Space]]:
        if not isinstance(space, spaces.Dict):
            return [("", space)]
        for key in self.keys:
            if key not in space.spaces:
                raise UserError(f"`keys` has no entry of the observation: {key}; {nearest(key, space.spaces)}")
        return [(key, space[key]) for key in self.keys]


def _unbounded(space: spaces.Space) -> spaces.Space:
    if not isinstance(space, spaces.Box) or not np.issubdtype(space.dtype, np.floating):
        return space
    return spaces.Box(-np.inf, np.inf, space.shape, space.dtype.type)
