"""Changes of what cameras show, applied to MuJoCo's scene before it is drawn: the model never changes."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

_UP, _ACROSS = np.array([0.0, 0.0, 1.0]), np.array([1.0, 0.0, 0.0])
_VERTICAL = 0.999


@dataclass
class Paint:
    """Moves the colour of some geoms towards another: `(1 - amount) * colour + amount * rgb`."""

    names: list[str] | None
    """Names or patterns of geoms, materials or bodies; None is everything."""
    rgb: np.ndarray
    amount: float


@dataclass
class Ornament:
    """A sphere, box or cylinder that is drawn into the scene, and that nothing can touch."""

    kind: str
    position: np.ndarray
    """Metres from the point that the camera looks at."""
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
    field_of_view: float = 0.0
    brightness: float = 1.0
    light_azimuth: float = 0.0
    tint: np.ndarray = field(default_factory=lambda: np.ones(3))
    paints: list[Paint] = field(default_factory=list)
    ornaments: list[Ornament] = field(default_factory=list)

    @property
    def acts(self) -> bool:
        """Whether anything differs from the nominal picture."""
        numbers = self.azimuth, self.elevation, self.roll, self.field_of_view, self.light_azimuth, self.brightness - 1
        return bool(any(numbers) or self.paints or self.ornaments or self.shift.any() or (self.tint != 1).any())

    def add(self, other: SceneEdits) -> None:
        """Adds the edits of another perturbation."""
        self.shift = self.shift + other.shift
        for name in ("azimuth", "elevation", "roll", "field_of_view", "light_azimuth"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.brightness, self.tint = self.brightness * other.brightness, self.tint * other.tint
        self.paints, self.ornaments = self.paints + other.paints, self.ornaments + other.ornaments

    def apply(self, scene: Any, model: Any, pivot: np.ndarray) -> None:
        """Changes a scene that shows the present state; `pivot` is the point that the camera looks at."""
        self._move_camera(scene, pivot)
        self._change_lights(scene, pivot)
        for paint in self.paints:
            _paint(scene, model, paint)
        for ornament in self.ornaments:
            _add(scene, pivot, ornament)

    def _move_camera(self, scene: Any, pivot: np.ndarray) -> None:
        # Two cameras, for two eyes; without stereo the picture is that of their mean.
        for camera in scene.camera:
            eye, forward, up = (np.array(v, dtype=np.float64) for v in (camera.pos, camera.forward, camera.up))
            if self.azimuth or self.elevation:
                turn = _rotation(_UP, self.azimuth) @ _rotation(np.cross(forward, up), -self.elevation)
                eye, forward, up = pivot + turn @ (eye - pivot), turn @ forward, turn @ up
            if self.roll:
                up = _rotation(forward, self.roll) @ up
            camera.pos, camera.forward, camera.up = eye + self.shift, forward, up
            if self.field_of_view:
                _widen(camera, self.field_of_view)

    def _change_lights(self, scene: Any, pivot: np.ndarray) -> None:
        for light in scene.lights[: scene.nlight]:
            factor = self.brightness * self.tint
            for name in ("ambient", "diffuse", "specular"):
                setattr(light, name, factor * getattr(light, name))
            # The headlight is where the camera is.
            if self.light_azimuth and not light.headlight:
                is_vertical = abs(light.dir[2]) > _VERTICAL * np.linalg.norm(light.dir)
                turn = _rotation(_ACROSS if is_vertical else _UP, self.light_azimuth)
                light.dir, light.pos = turn @ light.dir, pivot + turn @ (light.pos - pivot)


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


def _paint(scene: Any, model: Any, paint: Paint) -> None:
    for geom in scene.geoms[: scene.ngeom]:
        if paint.names is None or any(fnmatchcase(n, p) for n in names_of(geom, model) for p in paint.names):
            geom.rgba[:3] = (1 - paint.amount) * geom.rgba[:3] + paint.amount * paint.rgb


def names_of(geom: Any, model: Any) -> list[str]:
    """Returns the names by which something in a scene can be chosen: its own, its body's and its material's."""
    import mujoco

    if geom.objtype == mujoco.mjtObj.mjOBJ_SITE:
        own, body = model.site(geom.objid).name, model.site_bodyid[geom.objid]
    elif geom.objtype == mujoco.mjtObj.mjOBJ_GEOM:
        own, body = model.geom(geom.objid).name, model.geom_bodyid[geom.objid]
    else:
        return []
    material = model.mat(geom.matid).name if geom.matid >= 0 else ""
    return [name for name in (own, model.body(body).name, material) if name]


def _add(scene: Any, pivot: np.ndarray, ornament: Ornament) -> None:
    import mujoco

    if scene.ngeom >= scene.maxgeom:
        return
    kinds = {"sphere": mujoco.mjtGeom.mjGEOM_SPHERE, "box": mujoco.mjtGeom.mjGEOM_BOX}
    kind = kinds.get(ornament.kind, mujoco.mjtGeom.mjGEOM_CYLINDER)
    rgba = np.append(ornament.rgb, 1.0).astype(np.float32)
    size, place = np.full(3, ornament.size), pivot + ornament.position
    mujoco.mjv_initGeom(scene.geoms[scene.ngeom], kind, size, place, np.eye(3).ravel(), rgba)
    scene.ngeom += 1
