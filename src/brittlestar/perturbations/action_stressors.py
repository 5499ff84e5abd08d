"""Stressors of actions: weak actuators and disobeyed commands."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from gymnasium import spaces

from brittlestar.errors import require, require_choice
from brittlestar.perturbations.actions import ActionPerturbation, DefaultAction
from brittlestar.perturbations.base import Step
from brittlestar.perturbations.observation_stressors import PROTOCOLS

if TYPE_CHECKING:
    from brittlestar.perturbations.context import Context

_MOVED = 1e-3
_KNOTS = 4097


@dataclass
class ResourceConstraint(DefaultAction):
    """Box: sends `(1 - level * scale * loss) * a`; Discrete: the default action with probability `level * scale * p`.

    Example:
        >>> from brittlestar.randomness import LaneDraws
        >>> weak = ResourceConstraint(scale=1.0)
        >>> weak.bind(spaces.Box(-1.0, 1.0, (1,)), spaces.Box(-1.0, 1.0, (1,)), lanes=1)
        >>> step = Step(level=np.ones(1), first=np.ones(1, bool), draws=LaneDraws(0, "noise", 1))
        >>> weak.perturb_action(np.array([[1.0]]), step).tolist(), step.effects["regret"].tolist()
        ([[0.4]], [0.6])
    """

    kinds: ClassVar[tuple[type[spaces.Space], ...]] = (spaces.Box, spaces.Discrete)
    strength_field: ClassVar[str] = "scale"
    scale: float
    loss: float = 0.6
    p: float = 0.4
    protocol: str = field(default="rigorous", kw_only=True)
    """As published, the first action of a Discrete space stands in for a lost one, whatever it does."""

    def __post_init__(self) -> None:
        require_choice("protocol", self.protocol, PROTOCOLS)
        require(self.scale >= 0, "scale", "at least 0", self.scale)
        require(0 <= self.loss <= 1, "loss", "in [0, 1]", self.loss)
        require(0 <= self.p <= 1, "p", "in [0, 1]", self.p)

    def prepare(self, context: Context) -> None:
        """Takes the default of the environment, unless as published."""
        if self.protocol == "rigorous":
            super().prepare(context)

    def perturb_action(self, action: np.ndarray, step: Step) -> np.ndarray:
        """Weakens the action, or replaces it."""
        if not step.level.any():
            return action
        sent = super().perturb_action(action, step)
        gap = (sent.astype(np.float64) - action).reshape(len(action), -1)
        step.report_effect(
            "regret", self._hit.ravel().astype(np.float64) if self._discrete else np.linalg.norm(gap, axis=1)
        )
        return sent

    def perturb(self, action: np.ndarray, step: Step) -> np.ndarray:
        """Weakens the action, or replaces it."""
        scale, default = step.of(self, "scale", action), self.default_for(action, step)
        if self._discrete:
            self._hit = self.hit(scale * self.p, step, action) & (step.level > 0)
            return np.where(self._hit, default, action)
        loss = np.minimum(scale * self.loss, 1.0)
        return action * (1.0 - loss) + loss * default


@dataclass
class TrustViolation(ActionPerturbation):
    """Disobeys with strength `x = level * scale * i`, `i = .7 Beta(3.3, 2.7)` drawn at every step.

    Box: sends `a + x * unit * N(0, 1)`; the unit is half the range of each number, published: 1. Discrete: sends any
    other action with probability `x`.

    Example:
        >>> from brittlestar.randomness import LaneDraws
        >>> liar = TrustViolation(scale=1.0)
        >>> liar.bind(spaces.Discrete(2), spaces.Discrete(2), lanes=1000)
        >>> draws = LaneDraws(0, "noise", 1000)
        >>> draws.at(np.arange(1000), np.zeros(1000, dtype=int))
        >>> step = Step(np.ones(1000), np.ones(1000, bool), draws)
        >>> round(float(liar.perturb_action(np.zeros(1000, dtype=int), step).mean()), 1)
        0.4
    """

    kinds: ClassVar[tuple[type[spaces.Space], ...]] = (spaces.Box, spaces.Discrete)
    strength_field: ClassVar[str] = "scale"
    scale: float
    protocol: str = field(default="rigorous", kw_only=True)

    def __post_init__(self) -> None:
        require(self.scale >= 0, "scale", "at least 0", self.scale)
        require_choice("protocol", self.protocol, PROTOCOLS)

    def bind(self, observation_space: spaces.Space, action_space: spaces.Space, lanes: int) -> None:
        """Finds the unit of the noise."""
        super().bind(observation_space, action_space, lanes)
        self._unit: Any = 1.0
        if self._low is not None and self.protocol == "rigorous":
            self.need_bounds()
            self._unit = (np.asarray(self._high, dtype=np.float64) - self._low) / 2.0

    def perturb_action(self, action: np.ndarray, step: Step) -> np.ndarray:
        """Sends something else, and tells how much."""
        if not step.level.any():
            return action
        sent = super().perturb_action(action, step)
        gap = np.abs(sent.astype(np.float64) - action).reshape(len(action), -1)
        moved = gap.any(axis=1) if self._discrete else np.linalg.norm(gap, axis=1) >= _MOVED
        for name in ("violation", "regret"):
            step.report_effect(name, np.where(moved, self._intensity, 0.0))
        return sent

    def perturb(self, action: np.ndarray, step: Step) -> np.ndarray:
        """Disobeys."""
        knots = _quantiles()
        self._intensity = np.interp(step.draws.uniform(), np.linspace(0.0, 1.0, len(knots)), knots)
        strength = step.of(self, "scale", action) * self._intensity.reshape(-1, *[1] * (action.ndim - 1))
        if not isinstance(self._space, spaces.Discrete):
            return action + strength * self._unit * step.draws.normal(action.shape[1:])
        size, start = int(self._space.n), int(self._space.start)
        other = (action - start + 1 + (step.draws.uniform() * (size - 1)).astype(np.int64)) % size + start
        return np.where(self.hit(strength, step, action), other, action)


@functools.cache
def _quantiles() -> np.ndarray:
    """Quantiles of the intensity: to look one up is a hundred times faster than to invert the distribution."""
    from scipy.special import betaincinv

    return 0.7 * np.asarray(betaincinv(3.3, 2.7, np.linspace(0.0, 1.0, _KNOTS)))
