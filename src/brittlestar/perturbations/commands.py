"""Commands that get lost, late, stuck or weak on their way to the actuators; any action space."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from gymnasium import spaces

from brittlestar.errors import require, require_choice
from brittlestar.perturbations.actions import ActionPerturbation, DefaultAction
from brittlestar.perturbations.base import Step
from brittlestar.perturbations.delays import check_delay, draw_delay, longest_delay

LOST_FILLS = ("zero", "hold")


@dataclass
class ScaledAction(DefaultAction):
    """Box: sends `(1 - level * loss) * a`; Discrete: the default action with probability `level * loss`.

    A Box with a `default_action` d shrinks towards it: `(1 - loss) * a + loss * d`.

    Example:
        >>> from brittlestar.randomness import LaneDraws
        >>> box = spaces.Box(-1.0, 1.0, (2,), np.float32)
        >>> weak = ScaledAction(loss=0.5)
        >>> weak.bind(box, box, lanes=1)
        >>> step = Step(level=np.ones(1), first=np.ones(1, bool), draws=LaneDraws(0, "noise", 1))
        >>> weak.perturb_action(np.array([[1.0, -0.5]]), step).tolist()
        [[0.5, -0.25]]
    """

    kinds: ClassVar[tuple[type[spaces.Space], ...]] = (spaces.Box, spaces.Discrete)
    strength_field: ClassVar[str] = "loss"
    loss: float

    def __post_init__(self) -> None:
        require(0 <= self.loss <= 1, "loss", "in [0, 1]", self.loss)

    def perturb(self, action: np.ndarray, step: Step) -> np.ndarray:
        """Weakens the action, or replaces it."""
        loss, default = step.of(self, "loss", action), self.default_for(action, step)
        if self._discrete:
            return np.where(self.hit(loss, step, action), default, action)
        return action * (1.0 - loss) + loss * default


@dataclass
class DroppedAction(DefaultAction):
    """Loses the action with probability `level * p`: sends the default (`fill: zero`) or what arrived last (`hold`).

    Until something has arrived in an episode, `hold` sends the default, too.

    Example:
        >>> from brittlestar.randomness import LaneDraws
        >>> lost = DroppedAction(p=1.0, default_action=2)
        >>> lost.bind(spaces.Discrete(3), spaces.Discrete(3), lanes=2)
        >>> step = Step(level=np.ones(2), first=np.ones(2, bool), draws=LaneDraws(0, "noise", 2))
        >>> lost.perturb_action(np.array([0, 1]), step).tolist()
        [2, 2]
    """

    strength_field: ClassVar[str] = "p"
    p: float
    fill: str = "zero"

    def __post_init__(self) -> None:
        require(0 <= self.p <= 1, "p", "in [0, 1]", self.p)
        require_choice("fill", self.fill, LOST_FILLS)

    def perturb(self, action: np.ndarray, step: Step) -> np.ndarray:
        """Drops whole actions."""
        lost = self.hit(step.of(self, "p", action), step, action)
        fill = self.default_for(action, step)
        if self.fill == "zero":
            return np.where(lost, fill, action)
        held = np.where(step.first_for(action), fill, self._past)
        self._past = np.where(lost, held, action)
        return self._past


@dataclass
class StickyAction(ActionPerturbation):
    """Repeats what was sent last with probability `level * p`; the first action of an episode passes.

    Example:
        >>> from brittlestar.randomness import LaneDraws
        >>> sticky, draws = StickyAction(p=1.0), LaneDraws(0, "noise", 1)
        >>> sticky.bind(spaces.Discrete(3), spaces.Discrete(3), lanes=1)
        >>> steps = [Step(np.ones(1), np.array([first]), draws) for first in (True, False)]
        >>> [int(sticky.perturb_action(np.array([action]), step)[0]) for action, step in zip([2, 1], steps)]
        [2, 2]
    """

    kinds: ClassVar[tuple[type[spaces.Space], ...]] = DefaultAction.kinds
    strength_field: ClassVar[str] = "p"
    p: float

    def __post_init__(self) -> None:
        require(0 <= self.p <= 1, "p", "in [0, 1]", self.p)

    def perturb(self, action: np.ndarray, step: Step) -> np.ndarray:
        """Repeats whole actions."""
        stuck = self.hit(step.of(self, "p", action), step, action) & ~step.first_for(action)
        self._past = np.where(stuck, self._past, action)
        return self._past


@dataclass
class DelayedAction(DefaultAction):
    """Sends the action of `d = level * delay_steps + U{0..jitter_steps}` steps ago.

    A scheduled delay is rounded to whole steps; where it is 0, there is no jitter either. Before the first action of
    an episode has arrived, the default action is sent.

    Example:
        >>> from brittlestar.randomness import LaneDraws
        >>> late, draws = DelayedAction(delay_steps=1), LaneDraws(0, "noise", 1)
        >>> late.bind(spaces.Discrete(9), spaces.Discrete(9), lanes=1)
        >>> steps = [Step(np.ones(1), np.array([first]), draws) for first in (True, False, False)]
        >>> [int(late.perturb_action(np.array([action]), step)[0]) for action, step in zip([5, 6, 7], steps)]
        [0, 5, 6]
    """

    strength_field: ClassVar[str] = "delay_steps"
    delay_steps: int
    jitter_steps: int = 0

    def __post_init__(self) -> None:
        check_delay(self)

    def bind(self, observation_space: spaces.Space, action_space: spaces.Space, lanes: int) -> None:
        """Empties the line."""
        super().bind(observation_space, action_space, lanes)
        self._lanes, self._age = np.arange(lanes), np.zeros(lanes, dtype=np.int64)
        self._line = np.zeros((longest_delay(self) + 1, *self._past.shape), dtype=self._past.dtype)

    def perturb(self, action: np.ndarray, step: Step) -> np.ndarray:
        """Sends what arrives now."""
        self._age = np.where(step.first, 0, self._age + 1)
        delay, depth = draw_delay(self, step), len(self._line)
        self._line[self._age % depth, self._lanes] = action
        arrived = self._line[(self._age - delay) % depth, self._lanes]
        waiting = (delay > self._age).reshape(-1, *[1] * (action.ndim - 1))
        return np.where(waiting, self.default_for(action, step), arrived)
