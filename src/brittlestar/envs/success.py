"""What counts as success in an environment: per step where possible, else per episode."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from brittlestar.config.imports import import_module_in_place
from brittlestar.envs.batches import take_row
from brittlestar.errors import UserError, check_fields


@dataclass
class Success:
    """Base class: override `at_step` (and `at_reset` where possible), or `at_end`.

    Every row records any-step and final-step success; the headline is the one that `when` names.
    """

    when: Literal["any", "final"] = "any"

    def __post_init__(self) -> None:
        check_fields(self)

    def at_reset(self, observation: Any) -> np.ndarray | None:
        """Returns which lanes are solved before the first step; None if only a step can show it."""
        return None

    def at_step(self, observation: Any, infos: Sequence[dict], terminated: np.ndarray) -> np.ndarray | None:
        """Returns which lanes are in success after a step; None if only the end of an episode decides."""
        return None

    def at_end(self, episode_return: float) -> bool:
        """Returns whether a finished episode was a success; called only where `at_step` returns None."""
        raise NotImplementedError


@dataclass
class GoalReached(Success):
    """`|achieved_goal - desired_goal| < distance`, from the true observation of a goal environment.

    Example:
        >>> lanes = {"achieved_goal": np.zeros((2, 3)), "desired_goal": np.array([[0, 0, 0.01], [1, 0, 0]])}
        >>> GoalReached(distance=0.05).at_reset(lanes)
        array([ True, False])
    """

    distance: float = 0.05

    def at_reset(self, observation: Any) -> np.ndarray | None:
        return goal_distance(observation) < self.distance

    def at_step(self, observation: Any, infos: Sequence[dict], terminated: np.ndarray) -> np.ndarray | None:
        return goal_distance(observation) < self.distance


@dataclass
class InfoKey(Success):
    """`info[key]` is true after the step."""

    key: str = "is_success"

    def at_step(self, observation: Any, infos: Sequence[dict], terminated: np.ndarray) -> np.ndarray | None:
        for info in infos:
            if info and self.key not in info:
                raise UserError(f"`env.success.key` {self.key!r} is not in info; it has: {', '.join(map(str, info))}")
        return np.array([bool(info.get(self.key, False)) for info in infos])


@dataclass
class Terminated(Success):
    """The environment terminates the episode, because its goal is reached."""

    def at_step(self, observation: Any, infos: Sequence[dict], terminated: np.ndarray) -> np.ndarray | None:
        return terminated


@dataclass
class ReturnAtLeast(Success):
    """The return of the episode is at least `threshold`.

    Example:
        >>> ReturnAtLeast(threshold=475).at_end(500.0)
        True
    """

    threshold: float = 0.0

    def at_end(self, episode_return: float) -> bool:
        return episode_return >= self.threshold


@dataclass
class Predicate(Success):
    """A function of the user, `package.module:function`, of the observation and the info of one lane."""

    path: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        module, _, name = self.path.partition(":")
        try:
            self._function: Callable[[Any, dict], bool] = getattr(import_module_in_place(module), name)
        except (ImportError, AttributeError, ValueError) as error:
            raise UserError(f"`env.success.path` {self.path!r} is not a `module:function`: {error}") from None

    def at_step(self, observation: Any, infos: Sequence[dict], terminated: np.ndarray) -> np.ndarray | None:
        return np.array([bool(self._function(take_row(observation, i), info)) for i, info in enumerate(infos)])


def goal_distance(observation: Any) -> np.ndarray:
    """Returns `|achieved_goal - desired_goal|` of each lane."""
    return np.linalg.norm(observation["achieved_goal"] - observation["desired_goal"], axis=-1)
