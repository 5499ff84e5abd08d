"""Occluded cameras: a square patch, or rectangles of random pixels."""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from brittlestar.errors import Bound, Fraction, PositiveInt
from brittlestar.perturbations.images import ImagePerturbation
from brittlestar.perturbations.step import Step


@dataclass
class PatchImage(ImagePerturbation):
    """Covers a square of side `rint(level * share * min(H, W))` at a random place; larger squares cover smaller ones.

    Example:
        >>> from gymnasium import spaces
        >>> patch = PatchImage(share=0.5)
        >>> patch.bind(spaces.Box(0, 255, (4, 4), np.uint8), spaces.Discrete(2), lanes=1)
        >>> int((patch.perturb_observation(np.full((1, 4, 4), 9, np.uint8), Step.full()) == 0).sum())
        4
    """

    strength_field: ClassVar[str] = "share"
    share: Fraction
    fill: Fraction = 0.0
    """Brightness of the square: 0 is black, 1 is white."""
    per_episode: bool = False
    """Whether the place is drawn once per episode; otherwise at every step."""

    def paint(self, pixels: np.ndarray, white: float, step: Step) -> np.ndarray:
        side = step.of(self, "share", step.level) * min(pixels.shape[1:3])
        position = step.draws.uniform((2,), per_episode=self.per_episode)
        colour = white * np.asarray(step.of(self, "fill", pixels))
        colour = np.rint(colour) if pixels.dtype == np.uint8 else colour
        return np.where(rectangle(position, side, side, pixels.shape), colour.astype(pixels.dtype), pixels)


@dataclass
class ErasedImage(ImagePerturbation):
    """Fills rectangles, each with a share `level * area` of the image, with random pixels; with probability `p` a step.

    Height and width are `sqrt(area * r)` and `sqrt(area / r)` of the image's, with `log r = log(aspect) * U(-1, 1)`,
    at most the whole image.

    Example:
        >>> from gymnasium import spaces
        >>> erased = ErasedImage(area=0.25, aspect=1.0)
        >>> erased.bind(spaces.Box(0.0, 1.0, (10, 10)), spaces.Discrete(2), lanes=1)
        >>> int((erased.perturb_observation(np.zeros((1, 10, 10)), Step.full()) > 0).sum())
        25
    """

    strength_field: ClassVar[str] = "area"
    area: Fraction
    p: Fraction = 1.0
    aspect: Annotated[float, Bound("at least 1", lambda aspect: 1 <= aspect < np.inf)] = 3.0
    rectangles: PositiveInt = 1

    @property
    def is_identity(self) -> bool:
        return self.area == 0 or self.p == 0

    def paint(self, pixels: np.ndarray, white: float, step: Step) -> np.ndarray:
        hit = step.draws.uniform() < step.of(self, "p", step.level)
        random = white * step.draws.uniform(pixels.shape[1:])
        random = np.rint(random) if pixels.dtype == np.uint8 else random
        return np.where(self._hidden(hit, pixels.shape, step), random.astype(pixels.dtype), pixels)

    def _hidden(self, hit: np.ndarray, shape: tuple[int, ...], step: Step) -> np.ndarray:
        area, count = step.of(self, "area", step.level), np.rint(step.of(self, "rectangles", step.level))
        # A scheduled aspect may fall below 1, which means a square.
        stretch = np.log(np.maximum(step.of(self, "aspect", step.level), 1.0)) / 2
        hidden = np.zeros((*shape[:3], 1), dtype=bool)
        for i in range(self.rectangles):
            # Each rectangle has its own draws, so that one more does not move the others.
            place = step.draws.uniform((3,))
            root = np.sqrt(area) * (hit & (i < count))
            tall = np.exp(stretch * (2 * place[:, 2] - 1))
            height, width = shape[1] * np.minimum(root * tall, 1), shape[2] * np.minimum(root / tall, 1)
            hidden |= rectangle(place, height, width, shape)
        return hidden


def rectangle(position: np.ndarray, height: Any, width: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Returns which pixels a rectangle covers, `(lanes, H, W, 1)`.

    Args:
        position: `(lanes, 2)` in [0, 1); rectangles of all sizes at one position are nested.
        height: in pixels, one number or one per lane; rounded.
        width: like `height`.
        shape: shape of the images, `(lanes, H, W, channels)`.

    Example:
        >>> rectangle(np.array([[0.0, 0.99]]), 1, 2, (1, 2, 3, 1))[0, ..., 0].astype(int).tolist()
        [[0, 1, 1], [0, 0, 0]]
    """
    rows, columns = (
        _covered(position[:, axis], np.rint(size), shape[1 + axis]) for axis, size in enumerate((height, width))
    )
    return (rows[:, :, None] & columns[:, None, :])[..., None]


def _covered(position: np.ndarray, size: Any, length: int) -> np.ndarray:
    size = np.broadcast_to(size, position.shape)[:, None]
    start = np.floor(position[:, None] * (length - size + 1))
    places = np.arange(length)
    return np.asarray((places >= start) & (places < start + size))
