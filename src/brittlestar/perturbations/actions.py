"""The base classes of action perturbations: supported spaces, bounds, the default action."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces

from brittlestar.envs.batches import ARRAY_SPACES
from brittlestar.errors import UserError
from brittlestar.perturbations.base import Perturbation
from brittlestar.perturbations.context import Context
from brittlestar.perturbations.step import Step


@dataclass
class ActionPerturbation(Perturbation):
    """Perturbs actions: a subclass implements `perturb(action, step)`.

    The result is clipped to the bounds of a Box. Where the policy's own action is out of bounds, the bounds extend to
    that action, so that a strength near 0 has almost no effect.
    """

    kinds: ClassVar[tuple[type[spaces.Space], ...]] = (spaces.Box,)
    """Supported action spaces."""

    def perturb(self, action: np.ndarray, step: Step) -> np.ndarray:
        """Returns the perturbed action; the caller restores bounds and dtype."""
        raise NotImplementedError

    def bind(self, observation_space: spaces.Space, action_space: spaces.Space, lanes: int) -> None:
        if not isinstance(action_space, self.kinds):
            names = " or ".join(kind.__name__ for kind in self.kinds)
            raise UserError(f"{type(self).__name__} needs a {names} action space, got {action_space}")
        self._space, self._shape = action_space, tuple(action_space.shape or ())
        self._discrete = isinstance(action_space, spaces.Discrete)
        box = isinstance(action_space, spaces.Box)
        self._low: Any = getattr(action_space, "low", None)
        self._high: Any = getattr(action_space, "high", None)
        # Past actions, in a dtype that holds those of every dtype exactly.
        self._past = np.zeros((lanes, *self._shape), dtype=np.float64 if box else np.int64)

    def perturb_action(self, action: np.ndarray, step: Step) -> np.ndarray:
        moved = self.perturb(action, step)
        if self._low is not None:
            moved = np.clip(moved, np.minimum(action, self._low), np.maximum(action, self._high))
        return moved.astype(action.dtype, copy=False)

    def need_bounds(self) -> None:
        """Refuses a Box without finite bounds."""
        if self._low is not None and not (np.isfinite(self._low) & np.isfinite(self._high)).all():
            raise UserError(f"{type(self).__name__} needs a Box action space with finite bounds, got {self._space}")

    def hit(self, p: Any, step: Step, action: np.ndarray) -> np.ndarray:
        """Draws which lanes are hit at this step, with probability `p`; a larger `p` hits the same lanes and more."""
        return np.asarray(step.draws.uniform((1,) * (action.ndim - 1)) < p)


@dataclass
class DefaultAction(ActionPerturbation):
    """An action perturbation that sends `default_action` where it sends nothing else."""

    kinds: ClassVar[tuple[type[spaces.Space], ...]] = ARRAY_SPACES
    default_action: float | list[float] | None = field(default=None, kw_only=True)
    """None takes that of the environment, else the action of a Box nearest to zero, or the first one of a Discrete."""

    def bind(self, observation_space: spaces.Space, action_space: spaces.Space, lanes: int) -> None:
        super().bind(observation_space, action_space, lanes)
        low = 0 if self._low is None else np.clip(0.0, self._low, self._high)
        self._default = np.broadcast_to(getattr(action_space, "start", low), self._shape)
        if self.default_action is not None:
            self._take(self.default_action, "default_action")

    def prepare(self, context: Context) -> None:
        if self.default_action is None and context.default_action is not None:
            self._take(context.default_action, "env.default_action")

    def _take(self, action: float | list[float], name: str) -> None:
        try:
            self._default = np.broadcast_to(np.asarray(action, dtype=np.float64), self._shape)
            fits = self._space.contains(self._default.astype(self._space.dtype)[()])
        except ValueError:
            fits = False
        if not fits or (self._low is None and (self._default % 1).any()):
            raise UserError(f"`{name}` must be an action of {self._space}, got {action}")

    def default_for(self, action: np.ndarray, step: Step) -> Any:
        """Returns the default action at this step."""
        if isinstance(self.default_action, (int, float)):
            value = step.of(self, "default_action", action)
            return value if self._low is not None else np.rint(value).astype(np.int64)
        return self._default
