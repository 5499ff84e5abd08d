"""OpenGL without a screen, for the pictures of MuJoCo's cameras."""

import ctypes
import importlib
import os
from typing import Any

from brittlestar.errors import UserError

_LIBRARIES = {"egl": "libEGL.so.1", "osmesa": "libOSMesa.so.8"}
_INSTALL = "apt-get install libegl1 libegl-mesa0 libgl1-mesa-dri"


def draw_without_screen() -> None:
    """Has the library behind classic control and toy text draw without looking for a screen or a loudspeaker."""
    os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
    os.environ.setdefault("SDL_AUDIODRIVER", "dummy")


def make_context(width: int, height: int) -> Any:
    """Returns a context to draw in: by EGL, else by OSMesa, or by the one that MUJOCO_GL names."""
    wanted = os.environ.get("MUJOCO_GL", "").lower()
    reasons = []
    for name in [wanted] if wanted in _LIBRARIES else _LIBRARIES:
        try:
            # PyOpenGL decides for one library when it is imported, so look whether there is one.
            ctypes.CDLL(_LIBRARIES[name])
            context = importlib.import_module(f"mujoco.{name}").GLContext(width, height)
            context.make_current()
        except Exception as error:
            reasons.append(f"{name}: {' '.join(str(error).split()) or type(error).__name__}")
        else:
            return context
    raise UserError(f"cameras need EGL or OSMesa ({'; '.join(reasons)}): `{_INSTALL}`, or scripts/install_system.sh")
