"""Draws what a camera sees of a MuJoCo simulation, with a model and a state of its own."""

from __future__ import annotations

import atexit
import copy
import weakref
from typing import Any

import gymnasium as gym
import numpy as np

from brittlestar.envs.gl import make_context
from brittlestar.envs.scenes import SceneEdits
from brittlestar.envs.textures import TextureShelf
from brittlestar.errors import UserError, nearest

_MOST_GEOMS = 10_000
_FREE = ("lookat", "distance", "azimuth", "elevation")
_open: weakref.WeakSet[MujocoPainter] = weakref.WeakSet()


class MujocoPainter:
    """One renderer for all environments that have the same model.

    It copies positions into a state of its own, so that drawing changes nothing that the simulation reads.
    """

    def __init__(self, env: gym.Env, height: int, width: int, samples: int) -> None:
        import mujoco

        self._mujoco, self._size = mujoco, (height, width)
        self.model = copy.copy(_model_of(env))
        self.model.vis.quality.offsamples = samples
        screen = self.model.vis.global_
        screen.offwidth, screen.offheight = max(width, screen.offwidth), max(height, screen.offheight)
        self._data, self._option = mujoco.MjData(self.model), mujoco.MjvOption()
        self._scene = mujoco.MjvScene(self.model, maxgeom=_MOST_GEOMS)
        self._context = make_context(width, height)
        self._renderer = mujoco.MjrContext(self.model, mujoco.mjtFontScale.mjFONTSCALE_100)
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, self._renderer)
        self._viewport = mujoco.MjrRect(0, 0, width, height)
        self._shelf: TextureShelf | None = None
        self._starts: dict[int, tuple[float, np.ndarray]] = {}
        self.home: Any = None
        """The camera around whose point things lie, the same things in all pictures; None is the one that draws."""
        if not _open:
            # Behind the context: MuJoCo frees the display when Python ends, and the last function runs first.
            atexit.register(_close_all)
        _open.add(self)

    def camera(self, node: Any) -> Any:
        """Returns a camera of the model by its name, or a free one by where it looks and from where."""
        camera = self._mujoco.MjvCamera()
        if isinstance(node, str):
            camera.fixedcamid, camera.type = self._find(node), self._mujoco.mjtCamera.mjCAMERA_FIXED
            return camera
        for key in node:
            if key not in _FREE:
                raise UserError(f"`env.pixels.camera.{key}` does not exist; {nearest(str(key), _FREE)}")
        _check_free(node)
        camera.type = self._mujoco.mjtCamera.mjCAMERA_FREE
        camera.lookat[:] = node.get("lookat", self.model.stat.center)
        camera.distance = node.get("distance", 1.5 * self.model.stat.extent)
        camera.azimuth, camera.elevation = node.get("azimuth", 90.0), node.get("elevation", -45.0)
        return camera

    def _find(self, name: str) -> int:
        names = camera_names(self.model)
        if name not in names:
            suggestion = nearest(name, names) if names else "the model has none"
            raise UserError(f"`env.pixels.camera`: there is no camera {name!r}; {suggestion}")
        return names.index(name)

    def draw(self, env: gym.Env, camera: Any, edits: SceneEdits | None = None) -> np.ndarray:
        """Returns the picture of one environment, `(height, width, 3)` of type uint8."""
        mujoco, scene = self._mujoco, self._scene
        self._take_state(env.unwrapped)
        mujoco.mjv_updateScene(
            self.model, self._data, self._option, None, camera, mujoco.mjtCatBit.mjCAT_ALL.value, scene
        )
        self._context.make_current()
        if edits is not None:
            self._edit(scene, edits, camera, env.unwrapped)
        picture = np.empty((*self._size, 3), np.uint8)
        mujoco.mjr_render(self._viewport, scene, self._renderer)
        mujoco.mjr_readPixels(picture, None, self._viewport, self._renderer)
        # OpenGL starts at the lower left corner.
        return picture[::-1]

    def _take_state(self, env: Any) -> None:
        mujoco, data = self._mujoco, self._data
        for name in ("qpos", "mocap_pos", "mocap_quat"):
            getattr(data, name)[:] = getattr(env.data, name)
        mujoco.mj_kinematics(self.model, data)
        mujoco.mj_comPos(self.model, data)
        mujoco.mj_camlight(self.model, data)
        mujoco.mj_tendon(self.model, data)
        # gymnasium-robotics places the markers of goals before it draws.
        place_markers = getattr(env, "_render_callback", None)
        if place_markers is not None:
            model, state = env.model, env.data
            env.model, env.data = self.model, data
            try:
                place_markers()
            finally:
                env.model, env.data = model, state

    def _edit(self, scene: Any, edits: SceneEdits, camera: Any, env: Any) -> None:
        _, home = self._start(self.home or camera, env)
        edits.apply(scene, self.model, self._pivot(camera, env), home)
        if edits.textures:
            self._shelf = self._shelf or TextureShelf(self.model, self._renderer)
            self._shelf.cover(scene, edits.textures)

    def _pivot(self, camera: Any, env: Any) -> np.ndarray:
        """Returns the point that a camera looks at; for one of the model, as far away as at the start."""
        distance, point = self._start(camera, env)
        if camera.type == self._mujoco.mjtCamera.mjCAMERA_FREE:
            return point
        eye, forward = self._line_of_sight(self._data, camera.fixedcamid)
        return np.asarray(eye + distance * forward)

    def _start(self, camera: Any, env: Any) -> tuple[float, np.ndarray]:
        """Returns how far a camera looks, in metres, and at which point, in the initial state of the environment."""
        if camera.type == self._mujoco.mjtCamera.mjCAMERA_FREE:
            return float(camera.distance), np.array(camera.lookat)
        number = camera.fixedcamid
        if number not in self._starts:
            mujoco, start = self._mujoco, self._mujoco.MjData(self.model)
            qpos = getattr(env, "initial_qpos", getattr(env, "init_qpos", None))
            if isinstance(qpos, np.ndarray) and qpos.shape == start.qpos.shape:
                start.qpos[:] = qpos
            mujoco.mj_forward(self.model, start)
            eye, forward = self._line_of_sight(start, number)
            hit = mujoco.mj_ray(self.model, start, eye, forward, None, 1, -1, None)
            distance = float(hit) if hit > 0 else float(self.model.stat.extent)
            self._starts[number] = distance, eye + distance * forward
        return self._starts[number]

    @staticmethod
    def _line_of_sight(data: Any, number: int) -> tuple[np.ndarray, np.ndarray]:
        return data.cam_xpos[number].copy(), -data.cam_xmat[number, 2::3]

    def close(self) -> None:
        """Frees the renderer, which must happen before Python ends."""
        _open.discard(self)
        if self._context is not None:
            self._context.make_current()
            self._renderer.free()
            self._context.free()
            self._context = None


def _check_free(node: dict[str, Any]) -> None:
    numbers = {key: [*node[key]] if isinstance(node[key], list | tuple) else [node[key]] for key in node}
    for key, values in numbers.items():
        length, what = (3, "[x, y, z] in metres") if key == "lookat" else (1, "a number")
        what += " above 0" if key == "distance" else ""
        valid = len(values) == length and all(type(v) in (int, float) and np.isfinite(v) for v in values)
        if not valid or (key == "distance" and values[0] <= 0):
            raise UserError(f"`env.pixels.camera.{key}` must be {what}, got {node[key]}")


def camera_names(model: Any) -> list[str]:
    """Returns the names of a model's cameras."""
    return [model.camera(i).name for i in range(model.ncam)]


def _model_of(env: gym.Env) -> Any:
    model = getattr(env.unwrapped, "model", None)
    if not type(model).__module__.startswith("mujoco"):
        name = type(env.unwrapped).__name__
        raise UserError(f"`env.pixels.camera`: {name} is not simulated by MuJoCo; `render` shows its own picture")
    return model


def _close_all() -> None:
    for painter in list(_open):
        painter.close()
