"""Cameras for loops outside brittlestar."""

from typing import Any

import gymnasium as gym
import numpy as np

from brittlestar.envs.batches import as_batch, take_row
from brittlestar.envs.pixels import Pixels, View


class CameraEnv(gym.Wrapper, gym.utils.RecordConstructorArgs):
    """Shows what cameras see of an environment in place of its state, for loops outside brittlestar.

    `PerturbedEnv(CameraEnv(env, pixels), perturbation)` draws the perturbed scene only.

    Example:
        >>> env = CameraEnv(gym.make("Hopper-v5"), Pixels(camera="track", size=32))  # doctest: +SKIP
        >>> env.reset(seed=0)[0].shape  # doctest: +SKIP
        (32, 32, 3)
    """

    def __init__(self, env: gym.Env, pixels: Pixels) -> None:
        gym.utils.RecordConstructorArgs.__init__(self, pixels=pixels)
        gym.Wrapper.__init__(self, env)
        self.view = View(pixels, env, 1)
        self.observation_space = self.view.space

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict]:
        """Starts an episode."""
        state, info = self.env.reset(seed=seed, options=options)
        return self._look(state, True), info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict]:
        """Steps the environment."""
        state, *result = self.env.step(action)
        return self._look(state, False), *result

    def _look(self, state: Any, first: bool) -> Any:
        return take_row(self.view.look(as_batch(state), [self.env], [0], np.array([first])), 0)

    def close(self) -> None:
        """Frees the renderer and closes the environment."""
        self.view.close()
        super().close()
