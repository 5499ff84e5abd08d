"""Stressors of actions: weak actuators and disobeyed commands."""

import functools
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces

from brittlestar.errors import Fraction, NonNegative
from brittlestar.perturbations.actions import ActionPerturbation, DefaultAction
from brittlestar.perturbations.context import Context
from brittlestar.perturbations.discrete import another
from brittlestar.perturbations.observation_stressors import StressProtocol
from brittlestar.perturbations.step import Step, for_lanes

_MOVED = 1e-3
"""Smallest change of a continuous action that counts as a violation."""
_KNOTS = 4097


@dataclass
class ActionStressor(ActionPerturbation):
    """Reports the effect of each changed action; draws nothing while no lane is stressed."""

    kinds: ClassVar[tuple[type[spaces.Space], ...]] = (spaces.Box, spaces.Discrete)
    strength_field: ClassVar[str] = "scale"
    scale: NonNegative
    protocol: StressProtocol = field(default="rigorous", kw_only=True)

    def perturb_action(self, action: np.ndarray, step: Step) -> np.ndarray:
        if not step.level.any():
            return action
        sent = super().perturb_action(action, step)
        self.report((sent.astype(np.float64) - action).reshape(len(action), -1), step)
        return sent

    def report(self, change: np.ndarray, step: Step) -> None:
        """Reports the effects of a change of the action, `(lanes, n)`."""
        raise NotImplementedError


@dataclass
class ResourceConstraint(ActionStressor, DefaultAction):
    """Box: sends `(1 - level * scale * loss) * a`; Discrete: the default action with probability `level * scale * p`.

    A published protocol takes the first action of a Discrete space as the default.

    Example:
        >>> weak, step = ResourceConstraint(scale=1.0), Step.full()
        >>> weak.bind(spaces.Box(-1.0, 1.0, (1,)), spaces.Box(-1.0, 1.0, (1,)), lanes=1)
        >>> weak.perturb_action(np.array([[1.0]]), step).tolist(), step.effects["regret"].tolist()
        ([[0.4]], [0.6])
    """

    loss: Fraction = 0.6
    p: Fraction = 0.4

    def prepare(self, context: Context) -> None:
        if self.protocol == "rigorous":
            super().prepare(context)

    def perturb(self, action: np.ndarray, step: Step) -> np.ndarray:
        scale, default = step.of(self, "scale", action), self.default_for(action, step)
        if self._discrete:
            self._hit = self.hit(scale * self.p, step, action) & (step.level > 0)
            return np.where(self._hit, default, action)
        loss = np.minimum(scale * self.loss, 1.0)
        return action * (1.0 - loss) + loss * default

    def report(self, change: np.ndarray, step: Step) -> None:
        """Reports the length of the change as `regret`; for choices, whether one was replaced."""
        regret = self._hit.ravel().astype(np.float64) if self._discrete else np.linalg.norm(change, axis=1)
        step.report_effect("regret", regret)


@dataclass
class TrustViolation(ActionStressor):
    """Disobeys with strength `x = level * scale * i`, with `i = 0.7 Beta(3.3, 2.7)` drawn at every step.

    Box: sends `a + x * unit * N(0, 1)`; the unit is half the range of each number, or 1 in a published protocol.
    Discrete: sends another action with probability `x`.

    Example:
        >>> violation, step = TrustViolation(scale=1.0), Step.full(1000)
        >>> violation.bind(spaces.Discrete(2), spaces.Discrete(2), lanes=1000)
        >>> step.draws.at(np.arange(1000), np.zeros(1000, dtype=int))
        >>> round(float(violation.perturb_action(np.zeros(1000, dtype=int), step).mean()), 1)
        0.4
    """

    def bind(self, observation_space: spaces.Space, action_space: spaces.Space, lanes: int) -> None:
        super().bind(observation_space, action_space, lanes)
        self._unit: Any = 1.0
        if self._low is not None and self.protocol == "rigorous":
            self.need_bounds()
            self._unit = (np.asarray(self._high, dtype=np.float64) - self._low) / 2.0

    def perturb(self, action: np.ndarray, step: Step) -> np.ndarray:
        knots = _quantiles()
        self._intensity = np.interp(step.draws.uniform(), np.linspace(0.0, 1.0, len(knots)), knots)
        strength = step.of(self, "scale", action) * for_lanes(self._intensity, action)
        if not isinstance(self._space, spaces.Discrete):
            return action + strength * self._unit * step.draws.normal(action.shape[1:])
        other = another(action, int(self._space.n), int(self._space.start), step.draws.uniform())
        return np.where(self.hit(strength, step, action), other, action)

    def report(self, change: np.ndarray, step: Step) -> None:
        """Reports the intensity of each violation, also as `regret`."""
        moved = change.any(axis=1) if self._discrete else np.linalg.norm(change, axis=1) >= _MOVED
        for name in ("violation", "regret"):
            step.report_effect(name, np.where(moved, self._intensity, 0.0))


@functools.cache
def _quantiles() -> np.ndarray:
    """Quantiles of the intensity; a table lookup is a hundred times faster than the inverse distribution."""
    from scipy.special import betaincinv

    return 0.7 * np.asarray(betaincinv(3.3, 2.7, np.linspace(0.0, 1.0, _KNOTS)))
