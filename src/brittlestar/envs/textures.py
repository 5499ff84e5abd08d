"""Patterns on the things of a scene, as textures that a renderer has beside those of the model."""

from __future__ import annotations

from typing import Any

import numpy as np

from brittlestar.envs.scene_names import is_chosen, material_number
from brittlestar.envs.scenes import Texture
from brittlestar.randomness import generator

PATTERNS = ("checker", "stripes", "noise", "gradient")
_SIDE = 64
"""Pixels of a pattern, where a geom has no texture of its own."""
_FEWEST_CELLS, _MOST_CELLS = 2, 6
_MOST_TEXTURES = 400
_FIRST_NAME = 10_000
"""OpenGL's names of our textures: MuJoCo takes the lowest ones that are free."""


class TextureShelf:
    """Covers geoms of a scene with patterns.

    A renderer has room for more textures and materials than its model. Those of the patterns are behind those of the
    model, and a geom gets one of them in the scene only, which MuJoCo builds anew for every picture: there is nothing
    to undo.
    """

    def __init__(self, model: Any, renderer: Any) -> None:
        import mujoco

        self._mujoco, self._model, self._renderer = mujoco, model, renderer
        self._role = mujoco.mjtTextureRole.mjTEXROLE_RGB.value
        self._first_texture, self._first_material = model.ntex, model.nmat
        # The last material belongs to the sky.
        room = min(len(renderer.texture) - model.ntex, len(renderer.mat_texuniform) - 1 - model.nmat)
        self._room = max(0, min(_MOST_TEXTURES, room))
        pixels = max([6 * _SIDE**2, *(model.tex_height * model.tex_width).tolist()])
        self._stock = _stock(mujoco, model.ntex + self._room, pixels)
        self._places: dict[tuple, tuple[int, np.ndarray]] = {}

    def cover(self, scene: Any, textures: list[Texture]) -> None:
        """Covers geoms of a scene, whose renderer must be current; without room, they remain as they are."""
        geoms = [(geom, self._above(geom, textures)) for geom in scene.geoms[: scene.ngeom]]
        covered = [(geom, above) for geom, above in geoms if above]
        if len(self._places) + len(covered) > self._room:
            self._places.clear()
        for geom, above in covered:
            self._cover(geom, above)

    def _above(self, geom: Any, textures: list[Texture]) -> list[Texture]:
        """Returns the patterns on something; on a site, which marks a goal, only those that name it."""
        is_geom = geom.objtype == self._mujoco.mjtObj.mjOBJ_GEOM
        return [t for t in textures if (is_geom or t.names is not None) and is_chosen(geom, self._model, t.names)]

    def _cover(self, geom: Any, textures: list[Texture]) -> None:
        number, own = material_number(geom, self._model), self._own_texture(geom)
        kind = self._kind(geom, own)
        marks = [(texture.seed, texture.amount, tuple(texture.patterns)) for texture in textures]
        key = (number, own, kind, geom.rgba[:3].tobytes(), *marks)
        if key not in self._places:
            if len(self._places) >= self._room:
                return
            place = len(self._places)
            look, white = self._paint(geom, own, kind, textures)
            self._upload(place, look, own, kind)
            self._lay_out(place, kind, geom.matid if own >= 0 else -1)
            self._places[key] = place, white
        place, geom.rgba[:3] = self._places[key]
        geom.matid, geom.texcoord = self._first_material + place, geom.texcoord if own >= 0 else 0

    def _own_texture(self, geom: Any) -> int:
        """Returns the texture of a geom in the model; -1 for none."""
        return int(self._model.mat_texid[geom.matid, self._role]) if geom.matid >= 0 else -1

    def _kind(self, geom: Any, own: int) -> int:
        """Returns the type of the texture: that of the model, else one that fits the shape."""
        if own >= 0:
            return int(self._model.tex_type[own])
        is_plane = geom.type == self._mujoco.mjtGeom.mjGEOM_PLANE
        types = self._mujoco.mjtTexture
        return int(types.mjTEXTURE_2D if is_plane else types.mjTEXTURE_CUBE)

    def _paint(self, geom: Any, own: int, kind: int, textures: list[Texture]) -> tuple[np.ndarray, np.ndarray]:
        """Returns the texture of a geom with its patterns, `(faces * height, width, 3)`, and the colour of white."""
        is_flat = kind == self._mujoco.mjtTexture.mjTEXTURE_2D
        look = np.ones((_SIDE if is_flat else 6 * _SIDE, _SIDE, 3)) if own < 0 else _picture(self._model, own)
        height, width = len(look) if is_flat else look.shape[1], look.shape[1]
        white = np.array(geom.rgba[:3], dtype=np.float64)
        look = look * white
        for texture in textures:
            pattern = draw_pattern(texture.patterns, texture.seed, material_number(geom, self._model), height, width)
            look = (1 - texture.amount) * look + texture.amount * np.tile(pattern, (len(look) // height, 1, 1))
            white = (1 - texture.amount) * white + texture.amount * pattern.max(axis=(0, 1))
        # OpenGL clips colour times light before it applies a texture, so most of the colour must be the geom's own.
        return np.rint(255 * look / np.maximum(white, 1e-6)).astype(np.uint8), white

    def _upload(self, place: int, look: np.ndarray, own: int, kind: int) -> None:
        stock, renderer, number = self._stock, self._renderer, self._first_texture + place
        start = stock.tex_adr[number] = stock.tex_adr[-1]
        stock.tex_data[start : start + look.size] = look.ravel()
        stock.tex_height[number], stock.tex_width[number], stock.tex_type[number] = *look.shape[:2], kind
        stock.tex_colorspace[number] = self._model.tex_colorspace[own] if own >= 0 else 0
        renderer.texture[number], renderer.textureType[number] = _FIRST_NAME + number, kind
        # As many are freed with the renderer.
        renderer.ntexture = max(renderer.ntexture, number + 1)
        self._mujoco.mjr_uploadTexture(stock, renderer, number)

    def _lay_out(self, place: int, kind: int, like: int) -> None:
        """Gives a texture its material: like one of the model, or once per side of a shape, and 2 m of a plane."""
        number, uniform = self._first_material + place, self._renderer.mat_texuniform
        textures, repeats = (getattr(self._renderer, f"mat_tex{name}") for name in ("id", "repeat"))
        textures.reshape(len(uniform), -1)[number, self._role] = self._first_texture + place
        uniform[number] = uniform[like] if like >= 0 else kind == self._mujoco.mjtTexture.mjTEXTURE_2D
        repeats.reshape(-1, 2)[number] = repeats.reshape(-1, 2)[like] if like >= 0 else 1.0


def draw_pattern(kinds: list[str], seed: int, number: int, height: int, width: int) -> np.ndarray:
    """Returns a pattern of two colours, `(height, width, 3)` in [0, 1]; a seed has one for each number.

    Example:
        >>> pattern = draw_pattern(["checker"], seed=3, number=0, height=8, width=8)
        >>> len(np.unique(pattern.reshape(-1, 3), axis=0))
        2
    """
    random = generator(seed, f"texture/{number}")
    kind = kinds[int(random.integers(len(kinds)))]
    cells, turned = int(random.integers(_FEWEST_CELLS, _MOST_CELLS + 1)), bool(random.integers(2))
    colours = random.random((2, 3))
    rows, columns = ((np.arange(size) + 0.5) / size for size in (height, width))
    y, x = np.meshgrid(rows, columns, indexing="ij")
    share = _share(kind, *((y, x) if turned else (x, y)), cells, random)
    return np.asarray(colours[0] + share[:, :, None] * (colours[1] - colours[0]))


def _share(kind: str, x: np.ndarray, y: np.ndarray, cells: int, random: np.random.Generator) -> np.ndarray:
    """Returns how much of the second colour there is, 0 to 1."""
    if kind == "checker":
        return (np.floor(2 * cells * x) + np.floor(2 * cells * y)) % 2
    if kind == "stripes":
        return np.floor(2 * cells * x) % 2
    if kind == "gradient":
        return (1 - np.cos(2 * np.pi * x)) / 2
    grains = random.random((4 * cells, 4 * cells))
    return np.asarray(grains[(4 * cells * y).astype(int), (4 * cells * x).astype(int)])


def _picture(model: Any, number: int) -> np.ndarray:
    """Returns a texture of a model, `(height, width, 3)` in [0, 1]."""
    height, width, channels = (int(getattr(model, f"tex_{name}")[number]) for name in ("height", "width", "nchannel"))
    start = int(model.tex_adr[number])
    pixels = model.tex_data[start : start + height * width * channels].reshape(height, width, channels)
    return np.asarray(pixels[:, :, :3] / 255)


def _stock(mujoco: Any, count: int, pixels: int) -> Any:
    """Returns a model of nothing but textures, from which they are uploaded; the last one has room for the pixels."""
    small = '<texture name="{}" type="2d" builtin="flat" width="1" height="1"/>'
    large = f'<texture name="large" type="2d" builtin="flat" width="64" height="{-(-pixels // 64)}"/>'
    assets = "".join(small.format(i) for i in range(count)) + large
    return mujoco.MjModel.from_xml_string(f"<mujoco><asset>{assets}</asset></mujoco>")
