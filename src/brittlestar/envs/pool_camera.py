"""Pictures of environments that EnvPool steps, for films."""

from __future__ import annotations

import contextlib
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from brittlestar.envs.film_camera import with_pictures
from brittlestar.envs.gl import make_context
from brittlestar.errors import UserError

_WITHOUT_OPENGL = ("classic_control", "toy_text", "atari", "box2d")
"""Suites of EnvPool that draw by themselves, in a size of their own."""


class PoolCamera:
    """Shows the first lane of a `PoolLanes`, by EnvPool's own renderer: the very state that it steps.

    EnvPool draws no toy text. There the observation is the whole state, so Gymnasium's environment draws it.
    """

    def __init__(self, lanes: Any, size: int) -> None:
        self._lanes, self._context, self._twin = lanes, None, None
        self.reason = ""
        """Why there are no pictures; empty if there are."""
        lanes.render_options = {"render_mode": "rgb_array"}
        if lanes.suite not in _WITHOUT_OPENGL:
            lanes.render_options |= {"render_width": size, "render_height": size}
            try:
                # Without a context, MuJoCo would end the process.
                self._context = make_context(size, size)
            except UserError as error:
                self.reason = str(error)
        elif isinstance(lanes.observation_space, spaces.Discrete):
            self._twin = _stateful_twin(lanes.spec.id, lanes.spec.kwargs)

    def frame(self, lanes: Any) -> np.ndarray | None:
        """Returns a picture `(height, width, 3)`, or None."""
        if self.reason:
            return None
        if self._twin is not None:
            self._twin.unwrapped.s = int(np.asarray(lanes.observation)[0])
            return np.asarray(self._twin.render(), np.uint8)
        if self._context is not None:
            self._context.make_current()
        try:
            return np.asarray(lanes.picture(0), np.uint8)
        except RuntimeError:
            self.reason = f"EnvPool draws no pictures of {lanes.spec.id}"
            return None

    def close(self) -> None:
        """Frees the renderer."""
        # First what EnvPool draws with, which is in the context.
        self._lanes.close()
        if self._context is not None:
            self._context.free()
        if self._twin is not None:
            self._twin.close()


def _stateful_twin(env_id: str, kwargs: dict[str, Any]) -> Any:
    """Returns an environment of Gymnasium whose whole state is one number, `s`; None if there is none of this id."""
    with contextlib.suppress(gym.error.Error, TypeError):
        env = gym.make(env_id, **with_pictures(env_id, kwargs))
        env.reset(seed=0)
        if env.render_mode == "rgb_array" and hasattr(env.unwrapped, "s"):
            return env
        env.close()
    return None
