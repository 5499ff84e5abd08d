"""Blur and JPEG compression of images."""

import io
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np

from brittlestar.errors import Bound, UserError
from brittlestar.perturbations.images import ImagePerturbation
from brittlestar.perturbations.step import Step

_REACH = 3
"""Where a Gaussian kernel ends, in standard deviations."""


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
    kernel: Literal["gaussian", "box"] = "gaussian"

    def paint(self, pixels: np.ndarray, white: float, step: Step) -> np.ndarray:
        radius = np.broadcast_to(step.of(self, "radius_pixels", step.level), step.level.shape)
        weights = self._weights(radius, max(pixels.shape[1:3]))
        blurred, _ = self.in_floats(pixels, "radius_pixels", step)
        for axis in (1, 2):
            blurred = _average(blurred, weights.astype(blurred.dtype), axis)
        return blurred

    def _weights(self, radius: np.ndarray, widest: int) -> np.ndarray:
        """Returns one row of weights per lane, for the distances `-reach..reach`."""
        sides = _REACH if self.kernel == "gaussian" else 1
        # A blur wider than the image averages all of it. All lanes have the same reach, whatever their level.
        radius, reach = np.minimum(radius, widest), int(np.ceil(min(self.radius_pixels, widest) * sides))
        distances = np.abs(np.arange(-reach, reach + 1))
        if self.kernel == "box":
            weights = np.clip(radius[:, None] + 1 - distances, 0, 1)
        else:
            weights = np.exp(-0.5 * np.minimum(distances / np.maximum(radius, 1e-9)[:, None], 99.0) ** 2)
            # A level of 0.5 gives exactly half the radius, so the kernel must end where that of half the radius does.
            weights = np.where(distances <= np.ceil(sides * radius)[:, None], weights, 0.0)
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))


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
        losses = np.rint(np.broadcast_to(step.of(self, "loss", step.level), step.level.shape)).astype(int)
        decoded = pixels.copy()
        for lane in np.flatnonzero(losses).tolist():
            picture = np.rint(pixels[lane] * (255 / white)).astype(np.uint8)
            packed = _through_jpeg(picture, 100 - int(losses[lane]))
            decoded[lane] = packed if pixels.dtype == np.uint8 else packed * (white / 255)
        return decoded


def _average(pixels: np.ndarray, weights: np.ndarray, axis: int) -> np.ndarray:
    reach, length = weights.shape[1] // 2, pixels.shape[axis]
    total = np.zeros_like(pixels)
    for place in range(weights.shape[1]):
        moved = np.clip(np.arange(length) + place - reach, 0, length - 1)
        total += weights[:, place, None, None, None] * np.take(pixels, moved, axis=axis)
    return total


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
