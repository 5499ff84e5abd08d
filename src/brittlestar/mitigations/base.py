"""What a mitigation is: a filter between the policy and the perturbed environment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium import spaces

from brittlestar.perturbations.base import Step


@dataclass
class Mitigation:
    """The identity: passes everything on."""

    def bind(self, observation_space: spaces.Space, action_space: spaces.Space, lanes: int) -> None:
        """Checks the spaces and forgets all lanes; called once before a rollout."""

    def mitigate_action(self, action: np.ndarray, step: Step) -> np.ndarray:
        """Returns what is sent in place of the policy's action."""
        return action

    def mitigate_observation(self, observation: Any, step: Step) -> Any:
        """Returns what the policy sees in place of the perturbed observation."""
        return observation
