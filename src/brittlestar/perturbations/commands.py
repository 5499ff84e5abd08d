"""Commands that arrive weak, late, repeated or not at all; for any action space."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from gymnasium import spaces

from brittlestar.errors import Fraction
from brittlestar.perturbations.actions import ActionPerturbation, DefaultAction
from brittlestar.perturbations.delays import Delayed, LaneRing
from brittlestar.perturbations.step import Step, for_lanes


@dataclass
class ScaledAction(DefaultAction):
    """Box: sends `(1 - level * loss) * a`; Discrete: the default action with probability `level * loss`.

    A Box with a `default_action` d shrinks towards it: `(1 - loss) * a + loss * d`.

    Example:
        >>> box, weak = spaces.Box(-1.0, 1.0, (2,), np.float32), ScaledAction(loss=0.5)
        >>> weak.bind(box, box, lanes=1)
        >>> weak.perturb_action(np.array([[1.0, -0.5]]), Step.full()).tolist()
        [[0.5, -0.25]]
    """

    kinds: ClassVar[tuple[type[spaces.Space], ...]] = (spaces.Box, spaces.Discrete)
    strength_field: ClassVar[str] = "loss"
    loss: Fraction

    def perturb(self, action: np.ndarray, step: Step) -> np.ndarray:
        loss, default = step.of(self, "loss", action), self.default_for(action, step)
        if self._discrete:
            return np.where(self.hit(loss, step, action), default, action)
        return action * (1.0 - loss) + loss * default


@dataclass
class DroppedAction(DefaultAction):
    """Loses the action with probability `level * p`; sends the default (`fill: zero`) or the last arrived one (`hold`).

    Before the first action of an episode arrives, `hold` sends the default.

    Example:
        >>> lost = DroppedAction(p=1.0, default_action=2)
        >>> lost.bind(spaces.Discrete(3), spaces.Discrete(3), lanes=2)
        >>> lost.perturb_action(np.array([0, 1]), Step.full(2)).tolist()
        [2, 2]
    """

    strength_field: ClassVar[str] = "p"
    p: Fraction
    fill: Literal["zero", "hold"] = "zero"

    def perturb(self, action: np.ndarray, step: Step) -> np.ndarray:
        lost = self.hit(step.of(self, "p", action), step, action)
        fill = self.default_for(action, step)
        if self.fill == "zero":
            return np.where(lost, fill, action)
        held = np.where(step.first_for(action), fill, self._past)
        self._past = np.where(lost, held, action)
        return self._past


@dataclass
class StickyAction(ActionPerturbation):
    """Repeats the last sent action with probability `level * p`; the first action of an episode passes.

    Example:
        >>> sticky = StickyAction(p=1.0)
        >>> sticky.bind(spaces.Discrete(3), spaces.Discrete(3), lanes=1)
        >>> [sticky.perturb_action(np.array([action]), Step.full(first=action == 2)).item() for action in (2, 1)]
        [2, 2]
    """

    kinds: ClassVar[tuple[type[spaces.Space], ...]] = DefaultAction.kinds
    strength_field: ClassVar[str] = "p"
    p: Fraction

    def perturb(self, action: np.ndarray, step: Step) -> np.ndarray:
        stuck = self.hit(step.of(self, "p", action), step, action) & ~step.first_for(action)
        self._past = np.where(stuck, self._past, action)
        return self._past


@dataclass
class DelayedAction(Delayed, DefaultAction):
    """Sends the action of `d = level * delay_steps + U{0..jitter_steps}` steps ago, or of `level * delay_seconds` ago.

    Before the first action of an episode arrives, it sends the default action.

    Example:
        >>> late = DelayedAction(delay_steps=1)
        >>> late.bind(spaces.Discrete(9), spaces.Discrete(9), lanes=1)
        >>> [late.perturb_action(np.array([action]), Step.full(first=action == 5)).item() for action in (5, 6, 7)]
        [0, 5, 6]
    """

    def bind(self, observation_space: spaces.Space, action_space: spaces.Space, lanes: int) -> None:
        super().bind(observation_space, action_space, lanes)
        self._line: LaneRing | None = None

    def perturb(self, action: np.ndarray, step: Step) -> np.ndarray:
        delay = self.draw_delay(step)
        self._line = self._line or self.new_ring(self._past.dtype)
        self._line.push(action, step.first)
        waiting = for_lanes(delay > self._line.age, action)
        return np.where(waiting, self.default_for(action, step), self._line.past(delay))
