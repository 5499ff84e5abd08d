"""The model of SAC with demonstrations: at first, another policy chooses its actions."""

from typing import Any

import numpy as np

from brittlestar.policies.base import Policy
from brittlestar.training.lean_sac import LeanSac


class DemonstratedSac(LeanSac):
    """`LeanSac` that stores the steps of a demonstrator before its own."""

    demonstrator: Policy | None = None
    demonstrated: int = 0
    """Steps of all environments in which the demonstrator acts."""
    noise: float = 0.0
    """Standard deviation of what is added to its actions."""

    def _sample_action(
        self, learning_starts: int, action_noise: Any = None, n_envs: int = 1
    ) -> tuple[np.ndarray, np.ndarray]:
        if self.demonstrator is None or self.num_timesteps >= self.demonstrated:
            return super()._sample_action(0, action_noise, n_envs)
        assert self.env is not None
        innermost: Any = self.env.unwrapped
        actions, _ = self.demonstrator.predict(innermost.lanes.observation)
        draws = np.random.standard_normal(actions.shape)  # noqa: NPY002 (the library seeds this generator)
        scaled = np.clip(self.policy.scale_action(actions) + self.noise * draws, -1, 1).astype(np.float32)
        return self.policy.unscale_action(scaled), scaled

    def _excluded_save_params(self) -> list[str]:
        return [*super()._excluded_save_params(), "demonstrator"]
