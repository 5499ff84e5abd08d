"""Pictures of a running environment, for films."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

from brittlestar.envs.cameras import MujocoPainter, camera_names
from brittlestar.envs.gl import draw_without_screen
from brittlestar.errors import UserError

_TRACK = "track"
"""The camera that Gymnasium takes where a model has it."""
_SAMPLES = 4


class FilmCamera:
    """Shows an environment as its `render` does; a MuJoCo simulation is drawn without a window, with another model."""

    def __init__(self, env: gym.Env, size: int) -> None:
        self._painter: MujocoPainter | None = None
        self.reason = ""
        """Why there are no pictures; empty if there are."""
        if type(getattr(env.unwrapped, "model", None)).__module__.startswith("mujoco"):
            try:
                self._painter = MujocoPainter(env, size, size, _SAMPLES)
                self._camera = self._usual_camera(env.unwrapped)
            except UserError as error:
                self.reason = str(error)
        elif env.render_mode != "rgb_array":
            self.reason = f"{type(env.unwrapped).__name__} draws no pictures"

    def _usual_camera(self, env: Any) -> Any:
        assert self._painter is not None
        if _TRACK in camera_names(self._painter.model):
            return self._painter.camera(_TRACK)
        camera = self._painter.camera({})
        settings = getattr(getattr(env, "mujoco_renderer", None), "default_cam_config", None) or {}
        for key, value in settings.items():
            if isinstance(value, np.ndarray):
                getattr(camera, key)[:] = value
            else:
                setattr(camera, key, value)
        return camera

    def frame(self, env: gym.Env) -> np.ndarray | None:
        """Returns a picture `(height, width, 3)`, or None."""
        if self.reason:
            return None
        if self._painter is not None:
            return self._painter.draw(env, self._camera)
        picture = env.render()
        return np.asarray(picture, np.uint8) if isinstance(picture, np.ndarray) and picture.ndim == 3 else None

    def close(self) -> None:
        """Frees the renderer."""
        if self._painter is not None:
            self._painter.close()


def with_pictures(env_id: str, kwargs: dict[str, Any]) -> dict[str, Any]:
    """Returns arguments of `gymnasium.make` with which an environment can draw itself, if it knows how to."""
    draw_without_screen()
    modes = _render_modes(env_id)
    return kwargs | {"render_mode": "rgb_array"} if "rgb_array" in modes else kwargs


def _render_modes(env_id: str) -> list[str]:
    try:
        entry = gym.spec(env_id).entry_point
        kind = gym.envs.registration.load_env_creator(entry) if isinstance(entry, str) else entry
    except (gym.error.Error, ImportError, AttributeError):
        return []
    return list(getattr(kind, "metadata", {}).get("render_modes", []))
