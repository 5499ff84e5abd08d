"""Changes of what cameras show, applied to MuJoCo's scene before it is drawn: the model never changes."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from brittlestar.envs.scene_names import is_chosen, material_number

_UP, _ACROSS = np.array([0.0, 0.0, 1.0]), np.array([1.0, 0.0, 0.0])
_VERTICAL = 0.999
HEADLIGHT, LAMPS = "headlight", "lamps"
"""The light of the camera, and the lights of the model."""
TERMS = ("ambient", "diffuse", "specular")
"""The colours of a light."""


@dataclass
class Paint:
    """Moves the colour of some geoms towards another: `(1 - amount) * colour + amount * rgb`.

    If it `shifts`, the colour moves by up to `amount` either way, within [0, 1], and `rgb` is its place in that range.
    """

    names: list[str] | None
    """Names or patterns of geoms, materials or bodies; None is everything."""
    rgb: np.ndarray
    """One colour, `(3,)`, or several, `(colours, 3)`, of which each material takes one."""
    amount: float
    shifts: bool = False

    def colour(self, before: np.ndarray, number: int) -> np.ndarray:
        """Returns the new colour of something with the number of its material."""
        rgb = self.rgb if self.rgb.ndim == 1 else self.rgb[number % len(self.rgb)]
        if not self.shifts:
            return np.asarray((1 - self.amount) * before + self.amount * rgb)
        low, high = (np.clip(before + sign * self.amount, 0, 1) for sign in (-1, 1))
        return np.asarray(low + rgb * (high - low))


@dataclass
class LightPaint:
    """Moves the colour of some lights towards another: `(1 - amount) * colour + amount * rgb`."""

    lights: list[str]
    """`HEADLIGHT`, `LAMPS`, or both."""
    terms: list[str]
    """Which of its colours, see `TERMS`."""
    rgb: np.ndarray
    amount: float


@dataclass
class Texture:
    """Moves the look of some geoms towards a pattern: `(1 - amount) * colour + amount * pattern`."""

    names: list[str] | None
    """Names or patterns of geoms, sites, materials or bodies; None is every geom, and no site."""
    patterns: list[str]
    """The kinds of patterns, of which each material takes one; see `brittlestar.envs.textures`."""
    seed: int
    """What the kinds, the colours and the sizes of the patterns are drawn from."""
    amount: float


@dataclass
class Ornament:
    """A sphere, box or cylinder that is drawn into the scene, and that nothing can touch."""

    kind: str
    position: np.ndarray
    """Metres from the point that the camera looks at in the initial state."""
    size: float
    """Metres."""
    rgb: np.ndarray


@dataclass
class SceneEdits:
    """What differs from the nominal picture in one lane; without edits, the picture is the nominal one bit for bit.

    Attributes:
        shift: of the camera and the point it looks at, in metres.
        azimuth: turns the camera around the vertical axis through the point it looks at, in degrees.
        elevation: lifts the camera around that point, in degrees.
        roll: turns the camera around its line of sight, in degrees.
        pan: turns the camera to the left where it is, in degrees.
        tilt: turns the camera up where it is, in degrees.
        distance: factor of the distance from the camera to the point that it looks at.
        field_of_view: degrees that are added to the vertical field of view.
        brightness: factor of all lights.
        light_azimuth: turns the lights around the vertical axis, in degrees; a light that shines straight down would
            not change, so it turns around the x axis.
        tint: factor of all lights, for red, green and blue.
    """

    shift: np.ndarray = field(default_factory=lambda: np.zeros(3))
    azimuth: float = 0.0
    elevation: float = 0.0
    roll: float = 0.0
    pan: float = 0.0
    tilt: float = 0.0
    distance: float = 1.0
    field_of_view: float = 0.0
    brightness: float = 1.0
    light_azimuth: float = 0.0
    tint: np.ndarray = field(default_factory=lambda: np.ones(3))
    paints: list[Paint] = field(default_factory=list)
    light_paints: list[LightPaint] = field(default_factory=list)
    textures: list[Texture] = field(default_factory=list)
    ornaments: list[Ornament] = field(default_factory=list)

    @property
    def acts(self) -> bool:
        """Whether anything differs from the nominal picture."""
        numbers = [getattr(self, name) for name in _ADDED] + [getattr(self, name) - 1 for name in _MULTIPLIED]
        return any(np.any(number) for number in numbers) or any(getattr(self, name) for name in _LISTED)

    def add(self, other: SceneEdits) -> None:
        """Adds the edits of another perturbation."""
        for name in (*_ADDED, *_LISTED):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in _MULTIPLIED:
            setattr(self, name, getattr(self, name) * getattr(other, name))

    def apply(self, scene: Any, model: Any, pivot: np.ndarray, home: np.ndarray) -> None:
        """Changes a scene that shows the present state, all but its textures.

        Args:
            scene: MuJoCo's scene.
            model: the model that it shows.
            pivot: the point that the camera looks at.
            home: the point around which things lie; it never moves.
        """
        self._move_camera(scene, pivot)
        self._change_lights(scene, home)
        for paint in self.paints:
            for geom in scene.geoms[: scene.ngeom]:
                if is_chosen(geom, model, paint.names):
                    geom.rgba[:3] = paint.colour(geom.rgba[:3], material_number(geom, model))
        for ornament in self.ornaments:
            _add(scene, home, ornament)

    def _move_camera(self, scene: Any, pivot: np.ndarray) -> None:
        # Two cameras, for two eyes; without stereo the picture is that of their mean.
        for camera in scene.camera:
            eye, forward, up = (np.array(v, dtype=np.float64) for v in (camera.pos, camera.forward, camera.up))
            if self.azimuth or self.elevation:
                turn = _rotation(_UP, self.azimuth) @ _rotation(np.cross(forward, up), -self.elevation)
                eye, forward, up = pivot + turn @ (eye - pivot), turn @ forward, turn @ up
            if self.distance != 1:
                eye = pivot + self.distance * (eye - pivot)
            if self.pan or self.tilt:
                turn = _rotation(up, self.pan) @ _rotation(np.cross(forward, up), self.tilt)
                forward, up = turn @ forward, turn @ up
            if self.roll:
                up = _rotation(forward, self.roll) @ up
            camera.pos, camera.forward, camera.up = eye + self.shift, forward, up
            if self.field_of_view:
                _widen(camera, self.field_of_view)

    def _change_lights(self, scene: Any, home: np.ndarray) -> None:
        for light in scene.lights[: scene.nlight]:
            for paint in self.light_paints:
                for term in paint.terms if (HEADLIGHT if light.headlight else LAMPS) in paint.lights else ():
                    setattr(light, term, (1 - paint.amount) * getattr(light, term) + paint.amount * paint.rgb)
            for term in TERMS:
                setattr(light, term, self.brightness * self.tint * getattr(light, term))
            # The headlight is where the camera is.
            if self.light_azimuth and not light.headlight:
                is_vertical = abs(light.dir[2]) > _VERTICAL * np.linalg.norm(light.dir)
                turn = _rotation(_ACROSS if is_vertical else _UP, self.light_azimuth)
                light.dir, light.pos = turn @ light.dir, home + turn @ (light.pos - home)


_ADDED = ("shift", "azimuth", "elevation", "roll", "pan", "tilt", "field_of_view", "light_azimuth")
_MULTIPLIED = ("distance", "brightness", "tint")
_LISTED = ("paints", "light_paints", "textures", "ornaments")
"""How the edits of two perturbations become one."""


def _rotation(axis: np.ndarray, degrees: float) -> np.ndarray:
    """Returns the matrix of a rotation around an axis (Rodrigues' formula)."""
    x, y, z = axis / np.linalg.norm(axis)
    cross, angle = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]]), math.radians(degrees)
    return np.eye(3) + math.sin(angle) * cross + (1 - math.cos(angle)) * cross @ cross


def _widen(camera: Any, degrees: float) -> None:
    """Adds degrees to the vertical field of view; a camera without perspective keeps its picture."""
    if camera.orthographic:
        return
    before = math.atan((camera.frustum_top - camera.frustum_bottom) / 2 / camera.frustum_near)
    after = min(max(before + math.radians(degrees) / 2, math.radians(0.5)), math.radians(85))
    factor = math.tan(after) / math.tan(before)
    for name in ("frustum_top", "frustum_bottom", "frustum_width", "frustum_center"):
        setattr(camera, name, factor * getattr(camera, name))


def _add(scene: Any, home: np.ndarray, ornament: Ornament) -> None:
    import mujoco

    if scene.ngeom >= scene.maxgeom:
        return
    kinds = {"sphere": mujoco.mjtGeom.mjGEOM_SPHERE, "box": mujoco.mjtGeom.mjGEOM_BOX}
    kind = kinds.get(ornament.kind, mujoco.mjtGeom.mjGEOM_CYLINDER)
    rgba = np.append(ornament.rgb, 1.0).astype(np.float32)
    size, place = np.full(3, ornament.size), home + ornament.position
    mujoco.mjv_initGeom(scene.geoms[scene.ngeom], kind, size, place, np.eye(3).ravel(), rgba)
    scene.ngeom += 1
