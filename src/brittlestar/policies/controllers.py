"""Scripted controllers for the Fetch environments."""

from dataclasses import dataclass
from typing import ClassVar, NoReturn

import numpy as np
from gymnasium import spaces

from brittlestar.checkpoints.spaces_text import Space, describe_space
from brittlestar.errors import UserError, require
from brittlestar.policies.base import Observation, StatelessPolicy
from brittlestar.randomness import LaneDraws

_REACH_WIDTH, _OBJECT_WIDTH = 10, 25
_CONTACT = 0.05
_UP = np.array([0.0, 0.0, 1.0])
_FLAT = 1.0 - _UP


class _FetchController(StatelessPolicy):
    """Checks the spaces and turns a movement of the gripper into an action."""

    _name: ClassVar[str]
    _needs_object: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            require(value is False or value > 0, name, "above 0", value)

    def bind(self, observation_space: Space, action_space: Space, draws: LaneDraws) -> None:
        parts = observation_space.spaces if isinstance(observation_space, spaces.Dict) else {}
        if not {"desired_goal", "observation"} <= set(parts):
            keys = "desired_goal, observation"
            self._refuse(f"the dict observation of a Fetch environment with keys {keys}", observation_space)
        shape = parts["observation"].shape or ()
        has_object = len(shape) == 1 and shape[0] >= _OBJECT_WIDTH
        fits = has_object or (shape == (_REACH_WIDTH,) and not self._needs_object)
        if parts["desired_goal"].shape != (3,) or not fits:
            width = f"{'' if self._needs_object else f'{_REACH_WIDTH} or '}at least {_OBJECT_WIDTH}"
            self._refuse(f"an observation of {width} numbers and a goal of 3", observation_space)
        if not isinstance(action_space, spaces.Box) or action_space.shape != (4,):
            self._refuse("actions Box(4,)", action_space)

    def _refuse(self, need: str, space: Space) -> NoReturn:
        raise UserError(f"{self._name} needs {need}, got {describe_space(space)}")

    def act(self, observation: Observation) -> np.ndarray:
        """Returns the clipped movement; the fingers do not move."""
        state = np.asarray(observation["observation"], dtype=np.float64)
        goal = np.asarray(observation["desired_goal"], dtype=np.float64)
        action = np.zeros((len(state), 4), dtype=np.float32)
        action[:, :3] = np.clip(self._move(state, goal), -1.0, 1.0)
        return action

    def _move(self, state: np.ndarray, goal: np.ndarray) -> np.ndarray:
        raise NotImplementedError


@dataclass
class PController(_FetchController):
    """Moves the gripper by `kp * (goal - gripper)`.

    With an object it moves towards the object, never downwards, and within 5 cm of it by `kp * (goal - object)`. It
    does not move behind the object, so it rarely pushes it to the goal.

    Args:
        kp: gain, in action units per metre.

    Example:
        >>> state = np.zeros((1, 10)); state[0, :3] = [1.3, 0.7, 0.5]
        >>> goal = np.array([[1.35, 0.7, 0.0]])
        >>> PController(kp=10.0).predict({"observation": state, "desired_goal": goal})[0].round(2).tolist()
        [[0.5, 0.0, -1.0, 0.0]]
    """

    kp: float = 10.0
    _name: ClassVar[str] = "p_controller"
    _needs_object: ClassVar[bool] = False

    def _move(self, state: np.ndarray, goal: np.ndarray) -> np.ndarray:
        gripper = state[:, :3]
        if state.shape[1] < _OBJECT_WIDTH:
            return np.asarray(self.kp * (goal - gripper))
        block = state[:, 3:6]
        reach = block - gripper
        far = np.sqrt(_dot(reach, reach)) > _CONTACT
        reach[:, 2] = np.maximum(reach[:, 2], 0.0)
        return np.asarray(self.kp * np.where(far, reach, goal - block))


@dataclass
class PushController(_FetchController):
    """Moves over and behind the block, descends, and pushes it along the line to the goal.

    Args:
        kp: gain, in action units per metre.
        standoff: distance behind the block at which the gripper descends, in metres.
        corridor: half-width of the strip behind the block from which the gripper pushes, in metres.
        clearance: height above the block at which the gripper crosses it, in metres.
        tolerance: distance to the goal at which the gripper stops, in metres.
        fused: whether the block's position is the achieved goal, and the gripper's the mean of its two measurements,
            which reduces noise of the observation by a factor of 1.4.

    Example:
        >>> state = np.zeros((1, 25)); state[0, :6] = [1.23, 0.7, 0.42, 1.3, 0.7, 0.42]
        >>> goal = np.array([[1.4, 0.7, 0.42]])
        >>> PushController().predict({"observation": state, "desired_goal": goal})[0].round(2).tolist()
        [[1.0, 0.0, 0.0, 0.0]]
    """

    kp: float = 10.0
    standoff: float = 0.07
    corridor: float = 0.03
    clearance: float = 0.1
    tolerance: float = 0.02
    fused: bool = False
    _name: ClassVar[str] = "push_controller"

    def act(self, observation: Observation) -> np.ndarray:
        """Returns the clipped movement, from fused positions if `fused` is set."""
        return super().act(_fuse(observation) if self.fused else observation)

    def _move(self, state: np.ndarray, goal: np.ndarray) -> np.ndarray:
        gripper, block = state[:, :3], state[:, 3:6]
        to_block, way = block - gripper, (goal - block) * _FLAT
        remaining = np.sqrt(_dot(way, way))
        forward = way / np.maximum(remaining, 1e-9)
        behind = _dot(to_block, forward)
        aside = (to_block - behind * forward) * _FLAT
        level = np.abs(to_block[:, 2:]) < self.corridor
        pushing = level & (behind > self.corridor) & (_dot(aside, aside) < self.corridor**2)
        push = way + aside + to_block * _UP
        move = np.where(pushing, push, self._approach(to_block, to_block - self.standoff * forward))
        return np.asarray(self.kp * move * (remaining > self.tolerance))

    def _approach(self, to_block: np.ndarray, to_start: np.ndarray) -> np.ndarray:
        away = _dot(to_start * _FLAT, to_start) > self.tolerance**2
        hover = to_start + self.clearance * _UP
        too_low = -to_block[:, 2:] < self.clearance / 2
        return np.where(away, np.where(too_low, hover * _UP, hover), to_start)


def _fuse(observation: Observation) -> Observation:
    state = np.array(observation["observation"], dtype=np.float64)
    block = np.asarray(observation["achieved_goal"], dtype=np.float64)
    state[:, :3] = (state[:, :3] + block - state[:, 6:9]) / 2
    state[:, 3:6] = block
    return {**observation, "observation": state}


def _dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    # Not a matrix product, because its rounding depends on the number of lanes.
    return np.asarray(a[:, :1] * b[:, :1] + a[:, 1:2] * b[:, 1:2] + a[:, 2:3] * b[:, 2:3])
