"""What a mitigation is: a filter between the policy and the perturbed environment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium import spaces

from brittlestar.perturbations.base import Step

if TYPE_CHECKING:
    from brittlestar.calibration import Context
    from brittlestar.policies.base import Policy
    from brittlestar.randomness import LaneDraws


@dataclass
class Mitigation:
    """The identity: passes everything on."""

    def bind(self, observation_space: spaces.Space, action_space: spaces.Space, lanes: int) -> None:
        """Checks the spaces and forgets all lanes; called once before a rollout."""

    def prepare(self, context: Context) -> None:
        """Takes what it needs beyond the spaces (calibration); called once after `bind`."""

    def around(self, policy: Policy, draws: LaneDraws) -> Policy:
        """Returns the policy that acts in place of `policy`; `draws` is a random stream of its own."""
        return policy

    def mitigate_action(self, action: np.ndarray, step: Step) -> np.ndarray:
        """Returns what is sent in place of the policy's action."""
        return action

    def mitigate_observation(self, observation: Any, step: Step) -> Any:
        """Returns what the policy sees in place of the perturbed observation."""
        return observation
