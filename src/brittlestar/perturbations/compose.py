"""Several perturbations in order, as one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces

from brittlestar.errors import require
from brittlestar.perturbations.base import Perturbation, Step


@dataclass
class Compose(Perturbation):
    """Applies `parts` in order, each with its own strength times `scale`.

    Example:
        >>> from brittlestar.perturbations import GaussianAction, GaussianObservation
        >>> pair = Compose({"sensor": GaussianObservation(sigma=0.05), "motor": GaussianAction(sigma=0.1)})
        >>> pair.is_identity, Compose(pair.parts, scale=0).is_identity
        (False, True)
    """

    strength_field: ClassVar[str] = "scale"
    parts: dict[str, Perturbation]
    """Name to perturbation; a list is taken too, with positions for names."""
    scale: float = 1.0

    def __post_init__(self) -> None:
        require(self.scale >= 0, "scale", "at least 0", self.scale)
        if not isinstance(self.parts, dict):
            self.parts = {str(i): part for i, part in enumerate(self.parts)}

    @property
    def is_identity(self) -> bool:
        """Whether the scale or every part is zero."""
        return self.scale == 0 or all(part.is_identity for part in self.parts.values())

    def bind(self, observation_space: spaces.Space, action_space: spaces.Space, lanes: int) -> None:
        """Binds every part."""
        for part in self.parts.values():
            part.bind(observation_space, action_space, lanes)

    def observation_space(self, space: spaces.Space) -> spaces.Space:
        """Passes the space through every part."""
        for part in self.parts.values():
            space = part.observation_space(space)
        return space

    def perturb_observation(self, observation: Any, step: Step) -> Any:
        """Passes the observation through every part."""
        return self._through(lambda part: part.perturb_observation, observation, step)

    def perturb_action(self, action: np.ndarray, step: Step) -> np.ndarray:
        """Passes the action through every part."""
        return self._through(lambda part: part.perturb_action, action, step)

    def perturb_reward(self, reward: np.ndarray, step: Step) -> np.ndarray:
        """Passes the reward through every part."""
        return self._through(lambda part: part.perturb_reward, reward, step)

    def _through(self, channel: Callable[[Perturbation], Callable], value: Any, step: Step) -> Any:
        for name, part in self.parts.items():
            if not part.is_identity:
                value = channel(part)(value, step.part(name, self.scale))
        return value
