"""Gives one compiled MuJoCo model to several environments, instead of a copy of 10 MB to each.

A copy per lane costs start-up time, and pushes what the simulator reads at every step out of the caches. Gymnasium and
gymnasium-robotics have no argument for this: both compile by `mujoco.MjModel.from_xml_path(env.fullpath)`, which is
replaced on the class while one environment is made. An environment that compiles in another way has its own model.
"""

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

import gymnasium as gym

_LOCK = threading.Lock()


@contextlib.contextmanager
def share_model(like: gym.Env | None) -> Iterator[None]:
    """Gives the model of `like` to an environment that is made in this thread meanwhile."""
    model, path = (getattr(like.unwrapped, name, None) for name in ("model", "fullpath")) if like else (None, None)
    if like is None or model is None or path is None or not _is_read_only(like):
        yield
        return
    kind, compile_model, thread = type(model), type(model).from_xml_path, threading.get_ident()

    def from_xml_path(file: Any, *assets: Any) -> Any:
        return model if (file, threading.get_ident()) == (path, thread) else compile_model(file, *assets)

    with _LOCK:
        with contextlib.suppress(AttributeError, TypeError):  # A class that cannot be changed compiles as usual.
            kind.from_xml_path = staticmethod(from_xml_path)
        try:
            yield
        finally:
            with contextlib.suppress(AttributeError, TypeError):
                kind.from_xml_path = compile_model


def _is_read_only(env: gym.Env) -> bool:
    """Whether no reset and no step of an environment writes to its model; those of other packages might."""
    return type(env.unwrapped).__module__.startswith(("gymnasium.envs.mujoco.", "gymnasium_robotics.envs.fetch."))
