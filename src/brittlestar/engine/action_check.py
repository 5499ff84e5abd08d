"""Refuses actions that are not in the action space, before any backend gets them."""

import math
from typing import Any

import numpy as np
from gymnasium import spaces

from brittlestar.errors import HarnessError, shortened

_MOST_LETTERS = 160
_SMALL = 2**12
"""Number of choices up to which a set of them is worth its memory."""


class ActionCheck:
    """Checks a batch of actions against a space, one row per lane.

    Choices must be choices of the space. Numbers of a box must be finite; they may exceed its bounds, as perturbations
    do on purpose, and every backend then treats them as its environment does.

    Example:
        >>> check = ActionCheck(spaces.Discrete(3))
        >>> check.first_wrong(np.array([0, 7]), lanes=np.array([0, 1]))
        1
        >>> check.describe(np.array(7))
        '7 is not in Discrete(3)'
    """

    def __init__(self, space: spaces.Space) -> None:
        self._space, self._choices, self._is_box = space, frozenset[int](), isinstance(space, spaces.Box)
        self._low: Any = getattr(space, "start", 0)
        if isinstance(space, spaces.MultiBinary):
            self._high: Any = 1
        else:
            self._high = self._low + getattr(space, "nvec", getattr(space, "n", 0)) - 1
        if isinstance(space, spaces.Discrete) and space.n <= _SMALL:
            self._choices = frozenset(range(int(self._low), int(self._high) + 1))

    def refuse_shape(self, actions: np.ndarray, lanes: int) -> None:
        """Refuses actions of another shape, and objects that are no numbers."""
        expected = (lanes, *(self._space.shape or ()))
        if actions.shape != expected:
            raise HarnessError(
                f"the policy returned actions of shape {actions.shape}, expected {expected}: {lanes} lanes of "
                f"{self._space}"
            )
        if actions.dtype.kind not in "biuf":
            raise HarnessError(
                f"the policy returned actions of type {actions.dtype}, expected numbers of {self._space}"
            )

    def first_wrong(self, actions: np.ndarray, lanes: np.ndarray) -> int | None:
        """Returns the first of some lanes whose action is not valid; None if all are."""
        if self._all_valid(actions):
            return None
        return next((lane for lane in lanes.tolist() if not self._valid(actions[lane]).all()), None)

    def describe(self, action: np.ndarray) -> str:
        """Returns what is wrong with an action, for messages."""
        text, space = (shortened(" ".join(str(part).split()), _MOST_LETTERS) for part in (action, self._space))
        return f"{text} is not in {space}"

    def _all_valid(self, actions: np.ndarray) -> bool:
        if self._choices and actions.ndim == 1:
            # A set is several times faster than two comparisons of a small array.
            return self._choices.issuperset(actions.tolist())
        if self._is_box and actions.dtype.kind == "f":
            # Faster than a test of every number, without the warnings of a sum, and not finite if one of them is not.
            return math.isfinite(np.vdot(actions, actions))
        return bool(self._valid(actions).all())

    def _valid(self, actions: np.ndarray) -> np.ndarray:
        if self._is_box:
            return np.isfinite(actions)
        return (actions >= self._low) & (actions <= self._high) & (actions == np.rint(actions))
