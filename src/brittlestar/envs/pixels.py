"""What a policy sees in place of the state: pictures of cameras, and entries of the state that remain."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from brittlestar.envs.cameras import MujocoPainter
from brittlestar.envs.pictures import grey, shrink
from brittlestar.envs.scenes import SceneEdits
from brittlestar.errors import UserError, nearest, require

RENDER = "render"
"""The camera that is the environment's own picture."""
_LARGEST = 4096
IMAGE, STATE = "image", "state"
SEEN, NOMINAL = "seen", "nominal"
"""Memories of pictures, on which later ones are stacked: those that a policy saw, and those of the nominal scene."""
_ENTRY = re.compile(r"(?P<key>[^\[\]]+)(\[(?P<first>\d+):(?P<last>\d+)\])?")


@dataclass
class Pixels:
    """The pictures of an environment; without a camera there are none, and a policy sees the state.

    Example:
        >>> Pixels(camera="external_camera_0", size=64).height
        64
    """

    camera: Any = None
    """A camera of the MuJoCo model by name; `lookat`, `distance`, `azimuth` and `elevation` of a free one; `render`
    for the environment's own picture; or a list of these."""
    size: Any = 84
    """Pixels of a side, or [height, width]."""
    grey: bool = False
    """One channel in place of red, green and blue."""
    stack: int = 1
    """Pictures of the last steps, in the channels, the present one last; black before the first."""
    keep: list[str] = field(default_factory=list)
    """Entries of the state that a policy sees too, such as `observation[0:3]`; `state` is a state without entries."""
    samples: int = 4
    """Samples per pixel; 0 takes a third of the time, with hard edges."""

    def __post_init__(self) -> None:
        sides = self.size if isinstance(self.size, Sequence) and not isinstance(self.size, str) else [self.size] * 2
        is_valid = len(sides) == 2 and all(type(side) is int and side >= 1 for side in sides)
        require(is_valid, "env.pixels.size", "a whole number above 0, or [height, width]", self.size)
        self.height, self.width = sides
        largest = max(self.height, self.width)
        require(largest <= _LARGEST, "env.pixels.size", f"at most {_LARGEST}", self.size)
        require(type(self.stack) is int and self.stack >= 1, "env.pixels.stack", "at least 1", self.stack)
        require(type(self.samples) is int and self.samples >= 0, "env.pixels.samples", "at least 0", self.samples)
        if not self.cameras:
            for part in fields(self):
                usual = [] if part.name == "keep" else part.default
                if part.name != "camera" and getattr(self, part.name) != usual:
                    raise ValueError(f"`env.pixels.{part.name}` needs `env.pixels.camera`: there are no pictures")

    @property
    def cameras(self) -> list[Any]:
        """The cameras, none or several."""
        if self.camera is None:
            return []
        return list(self.camera) if isinstance(self.camera, list | tuple) else [self.camera]

    @property
    def is_rendered(self) -> bool:
        """Whether a picture is the environment's own, which needs its `render_mode`."""
        return RENDER in self.cameras


def as_overrides(node: dict[str, Any]) -> list[str]:
    """Returns the words of a command line that give an environment these pixels; none without a camera.

    Example:
        >>> print(*as_overrides({"camera": "track", "size": 64, "grey": False, "keep": ["state[0:3]"]}))
        env.pixels.camera=track env.pixels.size=64 'env.pixels.keep=["state[0:3]"]'
    """
    if node.get("camera") is None:
        return []
    usual = vars(Pixels())
    return [shlex.quote(f"env.pixels.{key}={_word(value)}") for key, value in node.items() if value != usual[key]]


def _word(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ",".join(f"{key}:{_word(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(_word, value)) + "]"
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return f'"{text}"' if "[" in text else text


class View:
    """Turns the states of all lanes into what a policy sees."""

    def __init__(self, pixels: Pixels, env: gym.Env, lanes: int) -> None:
        self.pixels = pixels
        self._kept = {_match(text)["key"]: _slice(text) for text in pixels.keep}
        self._check_kept(env.observation_space)
        drawn = [camera for camera in pixels.cameras if camera != RENDER]
        self._painter = MujocoPainter(env, pixels.height, pixels.width, pixels.samples) if drawn else None
        self._cameras = [c if c == RENDER or self._painter is None else self._painter.camera(c) for c in pixels.cameras]
        if self._painter is not None:
            self._painter.home = next(camera for camera in self._cameras if camera != RENDER)
        self.keys = [IMAGE] if len(self._cameras) == 1 else [f"{IMAGE}_{i}" for i in range(len(self._cameras))]
        self.space = self._space(env.observation_space)
        self.resize(lanes)

    @property
    def has_scene(self) -> bool:
        """Whether a scene is drawn that can be edited."""
        return self._painter is not None

    @property
    def scene_names(self) -> list[str]:
        """Names of geoms, bodies and materials, which perturbations choose by."""
        if self._painter is None:
            return []
        model = self._painter.model
        counts = {"geom": model.ngeom, "body": model.nbody, "mat": model.nmat, "site": model.nsite}
        names = [getattr(model, kind)(i).name for kind, count in counts.items() for i in range(count)]
        return [name for name in names if name]

    def _check_kept(self, space: spaces.Space) -> None:
        valid = list(space.spaces) if isinstance(space, spaces.Dict) else [STATE]
        for key, part in self._kept.items():
            if key not in valid:
                raise UserError(f"`env.pixels.keep`: the state has no entry {key!r}; {nearest(key, valid)}")
            entry = space[key] if isinstance(space, spaces.Dict) else space
            if not isinstance(entry, spaces.Box) or len(entry.shape) != 1:
                raise UserError(f"`env.pixels.keep`: the entry {key!r} is no row of numbers: {entry}")
            if part != slice(None) and not part.start < part.stop <= entry.shape[0]:
                where = f"{key}[{part.start}:{part.stop}]"
                raise UserError(f"`env.pixels.keep`: there is no {where!r}, the entry has {entry.shape[0]} numbers")

    def _space(self, state: spaces.Space) -> spaces.Space:
        channels = (1 if self.pixels.grey else 3) * self.pixels.stack
        image = spaces.Box(0, 255, (self.pixels.height, self.pixels.width, channels), np.uint8)
        if len(self.keys) == 1 and not self._kept:
            return image
        parts: dict[str, spaces.Space] = dict.fromkeys(self.keys, image)
        for key, part in self._kept.items():
            entry = state[key] if isinstance(state, spaces.Dict) else state
            assert isinstance(entry, spaces.Box)
            parts[key] = spaces.Box(entry.low[part], entry.high[part], dtype=entry.dtype.type)
        return spaces.Dict(parts)

    def resize(self, lanes: int) -> None:
        """Forgets all pictures, and makes room for those of some lanes."""
        image = self.space[self.keys[0]] if isinstance(self.space, spaces.Dict) else self.space
        assert image.shape is not None
        empty = {key: np.zeros((lanes, *image.shape), np.uint8) for key in self.keys}
        self._pictures = {SEEN: empty, NOMINAL: empty}

    def look(
        self, state: Any, envs: Sequence[gym.Env], lanes: Sequence[int], first: np.ndarray,
        edits: Sequence[SceneEdits | None] | None = None, remember: bool = True, memory: str = SEEN,
    ) -> Any:  # fmt: skip
        """Returns what policies see: pictures of some lanes; in the other lanes those of the last look remain.

        Args:
            state: the observations of all lanes.
            envs: the environments of all lanes.
            lanes: which of them are drawn.
            first: which lanes are at the start of an episode.
            edits: what differs from the nominal scene, one for each lane; None for nothing.
            remember: whether later pictures are stacked on these.
            memory: `SEEN` or `NOMINAL`: whose pictures these are stacked on; empty leaves both.
        """
        seen: dict[str, np.ndarray] = {}
        for key, camera in zip(self.keys, self._cameras, strict=True):
            pictures = self._pictures[memory or SEEN][key].copy()
            for lane in lanes:
                frame = self._picture(envs[lane], camera, edits[lane] if edits else None)
                depth = frame.shape[2]
                past = np.zeros_like(pictures[lane]) if first[lane] else pictures[lane]
                pictures[lane] = np.concatenate([past[:, :, depth:], frame], axis=2)
            if remember and memory:
                self._pictures[memory] = self._pictures[memory] | {key: pictures}
            seen[key] = pictures
        if not isinstance(self.space, spaces.Dict):
            return seen[IMAGE]
        for key, part in self._kept.items():
            seen[key] = (state[key] if isinstance(state, dict) else state)[:, part]
        return seen

    def _picture(self, env: gym.Env, camera: Any, edits: SceneEdits | None) -> np.ndarray:
        if camera == RENDER:
            frame = _resized(_rendered(env), self.pixels.height, self.pixels.width)
        else:
            assert self._painter is not None
            frame = self._painter.draw(env, camera, edits)
        return grey(frame)[:, :, None] if self.pixels.grey else frame

    def close(self) -> None:
        """Frees the renderer."""
        if self._painter is not None:
            self._painter.close()


def _match(text: str) -> re.Match[str]:
    match = _ENTRY.fullmatch(str(text))
    if match is None:
        raise UserError(
            f"`env.pixels.keep`: {text!r} must be the name of an entry, or a part such as `observation[0:3]`"
        )
    return match


def _slice(text: str) -> slice:
    first, last = _match(text)["first"], _match(text)["last"]
    return slice(None) if first is None else slice(int(first), int(last))


def _rendered(env: gym.Env) -> np.ndarray:
    try:
        return np.asarray(env.render())
    except gym.error.Error as error:
        raise UserError(f"`env.pixels.camera=render`: {error}") from None


def _resized(frame: np.ndarray, height: int, width: int) -> np.ndarray:
    if frame.ndim != 3:
        raise UserError("`env.pixels.camera=render`: the environment returned no picture for `render_mode=rgb_array`")
    if frame.shape[:2] == (height, width):
        return frame
    if frame.shape[0] < height or frame.shape[1] < width:
        most = "x".join(map(str, frame.shape[:2]))
        raise UserError(
            f"`env.pixels.size` must be at most {most}, the environment's own picture, got {height}x{width}"
        )
    return np.stack([shrink(frame[:, :, i], (height, width)) for i in range(3)], axis=2)
