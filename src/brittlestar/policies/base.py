"""What a policy is: `predict` on a batch of lanes, as Stable-Baselines3 has it."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces

from brittlestar.randomness import LaneDraws

Observation = Any
"""An array with a leading lane axis, or a dict of such arrays."""


class Policy:
    """Maps a batch of observations to a batch of actions.

    The engine calls `bind` once per cell, then `predict` once per step for all lanes. The result for a
    lane must depend on that lane's observation and state alone, never on the other lanes.
    """

    def bind(self, observation_space: spaces.Space, action_space: spaces.Space, draws: LaneDraws) -> None:
        """Checks the spaces and keeps what `predict` needs; `draws` is the policy's own random stream."""

    def predict(
        self,
        observation: Observation,
        state: Any = None,
        episode_start: np.ndarray | None = None,
        deterministic: bool = True,
    ) -> tuple[np.ndarray, Any]:
        """Returns the actions, lane axis first, and the state to pass in next time."""
        raise NotImplementedError
