"""Camera faults: blur, JPEG compression, a covered patch, rectangles of random pixels."""

import io
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from brittlestar.errors import Bound, Fraction, PositiveInt, UserError
from brittlestar.perturbations.image_filters import Kernel, blur_images, kernel_weights
from brittlestar.perturbations.images import ImagePerturbation
from brittlestar.perturbations.observations import as_dtype
from brittlestar.perturbations.step import Step


@dataclass
class BlurredImage(ImagePerturbation):
    """Averages each pixel with its neighbours within `r = level * radius_pixels`.

    The weights are Gaussian with standard deviation `r`, or a box of side `2 r + 1`. The edge continues beyond the
    image.

    Example:
        >>> from gymnasium import spaces
        >>> blur = BlurredImage(radius_pixels=1, kernel="box")
        >>> blur.bind(spaces.Box(0, 255, (3, 3), np.uint8), spaces.Discrete(2), lanes=1)
        >>> dot = np.array([[[0, 0, 0], [0, 90, 0], [0, 0, 0]]], np.uint8)
        >>> blur.perturb_observation(dot, Step.full()).tolist()
        [[[10, 10, 10], [10, 10, 10], [10, 10, 10]]]
    """

    strength_field: ClassVar[str] = "radius_pixels"
    radius_pixels: Annotated[float, Bound("at least 0", lambda radius: 0 <= radius < np.inf)]
    kernel: Kernel = "gaussian"

    def paint(self, pixels: np.ndarray, white: float, step: Step) -> np.ndarray:
        images, _ = self.in_floats(pixels, "radius_pixels", step)
        radius = self.in_lanes("radius_pixels", step)
        return blur_images(images, kernel_weights(radius, self.kernel, max(pixels.shape[1:3])))


@dataclass
class JpegImage(ImagePerturbation):
    """Compresses to JPEG of quality `100 - level * loss` and back; a loss that rounds to 0 leaves the image unchanged.

    Three channels are a colour image. Other numbers of channels are separate grey images.

    Example:
        >>> from gymnasium import spaces
        >>> jpeg, ramp = JpegImage(loss=90), np.arange(768, dtype=np.uint8).reshape(1, 16, 16, 3)
        >>> jpeg.bind(spaces.Box(0, 255, (16, 16, 3), np.uint8), spaces.Discrete(2), lanes=1)
        >>> bool((jpeg.perturb_observation(ramp, Step.full()) != ramp).any())
        True
    """

    strength_field: ClassVar[str] = "loss"
    loss: Annotated[float, Bound("in [0, 99]", lambda loss: 0 <= loss <= 99)]

    def paint(self, pixels: np.ndarray, white: float, step: Step) -> np.ndarray:
        losses = np.rint(self.in_lanes("loss", step)).astype(int)
        decoded = pixels.copy()
        for lane in np.flatnonzero(losses).tolist():
            picture = np.rint(pixels[lane] * (255 / white)).astype(np.uint8)
            packed = _through_jpeg(picture, 100 - int(losses[lane]))
            decoded[lane] = packed if pixels.dtype == np.uint8 else packed * (white / 255)
        return decoded


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
        colour = as_dtype(white * np.asarray(step.of(self, "fill", pixels)), pixels.dtype)
        return np.where(rectangle(position, side, side, pixels.shape), colour, pixels)


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


def _through_jpeg(picture: np.ndarray, quality: int) -> np.ndarray:
    if picture.shape[2] == 3:
        return _coded(picture, quality)
    return np.stack([_coded(picture[..., i], quality) for i in range(picture.shape[2])], axis=2)


def _coded(picture: np.ndarray, quality: int) -> np.ndarray:
    try:
        from PIL import Image
    except ImportError:
        raise UserError("JpegImage needs Pillow: `pip install pillow`") from None
    file = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(picture)).save(file, "JPEG", quality=quality)
    with Image.open(file) as opened:
        return np.asarray(opened)
