"""The base class of image perturbations; image noise, brightness and contrast."""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from gymnasium import spaces

from brittlestar.errors import Bound, Fraction, NonNegative, UserError
from brittlestar.perturbations.observations import ObservationPerturbation, entry_name
from brittlestar.perturbations.step import Step

_WHITES = (1.0, 255.0)


@dataclass
class ImagePerturbation(ObservationPerturbation):
    """Perturbs images: a subclass implements `paint(pixels, white, step)`.

    Images are `uint8` in 0..255, or floats in [0, 1] or [0, 255], of shape `(H, W)`, `(H, W, C)` or `(C, H, W)`. The
    shorter of the first and the last axis holds the channels. The result is clipped to the range of the image.
    """

    def paint(self, pixels: np.ndarray, white: float, step: Step) -> np.ndarray:
        """Returns the perturbed pixels, `(lanes, H, W, channels)`; `white` is the largest value of a pixel."""
        raise NotImplementedError

    def bind(self, observation_space: spaces.Space, action_space: spaces.Space, lanes: int) -> None:
        parts = observation_space.spaces if isinstance(observation_space, spaces.Dict) else {}
        images = [key for key, space in parts.items() if _white(space)]
        for key in self.keys:
            if images and key not in images:
                hint = f"set `perturbation.keys=[{','.join(images)}]`"
                raise UserError(f"{type(self).__name__} needs an image, and the entry {key!r} is none; {hint}")
        super().bind(observation_space, action_space, lanes)
        self._whites = {key: self._check_white(key, space) for key, space in self.touched(observation_space)}

    def observation_space(self, space: spaces.Space) -> spaces.Space:
        return space

    def perturb(self, array: np.ndarray, step: Step) -> np.ndarray:
        """Paints, clips to the range of the image, and reports the share of changed pixels."""
        pixels, white = _as_pixels(array), self._whites[step.key]
        painted = self.paint(pixels, white, step)
        if painted.dtype != array.dtype:
            painted = np.rint(painted) if array.dtype == np.uint8 else painted
            painted = np.clip(painted, 0, white).astype(array.dtype)
        elif array.dtype != np.uint8:
            painted = np.clip(painted, 0, white)
        step.report_effect("pixels_changed", _share_changed(pixels, painted) / (len(self.keys) if step.key else 1))
        return _as_array(painted, array)

    def in_floats(self, pixels: np.ndarray, name: str, step: Step) -> tuple[np.ndarray, np.ndarray]:
        """Returns the pixels and a parameter as floats; float32 is precise enough for all images but float64 ones."""
        floats = np.ascontiguousarray(pixels, dtype=np.float64 if pixels.dtype == np.float64 else np.float32)
        return floats, np.asarray(step.of(self, name, pixels), dtype=floats.dtype)

    def in_lanes(self, name: str, step: Step) -> np.ndarray:
        """Returns a parameter of every lane, `(lanes,)`."""
        return np.broadcast_to(step.of(self, name, step.level), step.level.shape)

    def _check_white(self, key: str, space: spaces.Space) -> float:
        white = _white(space)
        if white:
            return white
        raise UserError(
            f"{type(self).__name__} needs an image (H, W), (H, W, C) or (C, H, W), uint8 in 0..255 or floats in "
            f"[0, 1], {entry_name(key)} is {space}"
        )


@dataclass
class GaussianImage(ImagePerturbation):
    """Adds `level * sigma * white * N(0, 1)` to every pixel and clips.

    Example:
        >>> noise = GaussianImage(sigma=0.1)
        >>> noise.bind(spaces.Box(0, 255, (8, 8, 3), np.uint8), spaces.Discrete(2), lanes=1)
        >>> seen = noise.perturb_observation(np.full((1, 8, 8, 3), 128, np.uint8), Step.full())
        >>> seen.dtype.name, bool(10 < seen.std() < 40)
        ('uint8', True)
    """

    strength_field: ClassVar[str] = "sigma"
    sigma: NonNegative

    def paint(self, pixels: np.ndarray, white: float, step: Step) -> np.ndarray:
        floats, sigma = self.in_floats(pixels, "sigma", step)
        return floats + white * sigma * step.draws.normal(pixels.shape[1:]).astype(floats.dtype)


@dataclass
class BrightnessImage(ImagePerturbation):
    """Adds `level * shift * white` to every pixel and clips: 1 is all white, -1 all black.

    Example:
        >>> bright = BrightnessImage(shift=0.2)
        >>> bright.bind(spaces.Box(0, 255, (1, 2), np.uint8), spaces.Discrete(2), lanes=1)
        >>> bright.perturb_observation(np.array([[[100, 230]]], np.uint8), Step.full()).tolist()
        [[[151, 255]]]
    """

    strength_field: ClassVar[str] = "shift"
    shift: Annotated[float, Bound("in [-1, 1]", lambda shift: -1 <= shift <= 1)]

    def paint(self, pixels: np.ndarray, white: float, step: Step) -> np.ndarray:
        floats, shift = self.in_floats(pixels, "shift", step)
        return floats + white * shift


@dataclass
class ContrastImage(ImagePerturbation):
    """Shows `(1 - level * loss) * x + level * loss * mean(x)`: 1 is a uniform grey.

    Example:
        >>> pale = ContrastImage(loss=0.5)
        >>> pale.bind(spaces.Box(0, 255, (1, 2), np.uint8), spaces.Discrete(2), lanes=1)
        >>> pale.perturb_observation(np.array([[[100, 200]]], np.uint8), Step.full()).tolist()
        [[[125, 175]]]
    """

    strength_field: ClassVar[str] = "loss"
    loss: Fraction

    def paint(self, pixels: np.ndarray, white: float, step: Step) -> np.ndarray:
        floats, loss = self.in_floats(pixels, "loss", step)
        mean = floats.reshape(len(pixels), -1).mean(axis=1, dtype=np.float64)[:, None, None, None]
        return floats * (1 - loss) + mean.astype(floats.dtype) * loss


def _white(space: spaces.Space) -> float:
    """Returns the largest value of a pixel; 0 for a space without pictures."""
    if not isinstance(space, spaces.Box):
        return 0.0
    white = float(space.high.max())
    bounded = (space.low == 0).all() and (space.high == white).all()
    kind = space.dtype == np.uint8 or np.issubdtype(space.dtype, np.floating)
    return white if len(space.shape) in (2, 3) and bounded and white in _WHITES and kind else 0.0


def _as_pixels(array: np.ndarray) -> np.ndarray:
    """Views images of any layout as `(lanes, H, W, channels)`."""
    if array.ndim == 3:
        return array[..., None]
    return np.moveaxis(array, 1, 3) if _channels_first(array) else array


def _as_array(pixels: np.ndarray, like: np.ndarray) -> Any:
    if like.ndim == 3:
        return pixels[..., 0]
    return np.moveaxis(pixels, 3, 1) if _channels_first(like) else pixels


def _share_changed(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    # Channel by channel, because numpy reduces a short last axis slowly.
    changed = np.zeros(before.shape[:3], dtype=bool)
    for channel in range(before.shape[3]):
        changed |= before[..., channel] != after[..., channel]
    return np.asarray(changed.reshape(len(changed), -1).mean(axis=1))


def _channels_first(array: np.ndarray) -> bool:
    return array.shape[1] < array.shape[3]
