"""Blur of a camera that moves, zooms, or looks through frosted glass."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from brittlestar.errors import Bound, PositiveInt
from brittlestar.perturbations.image_filters import (
    Kernel,
    blur_images,
    kernel_weights,
    shuffle_pixels,
    smear_images,
    zoom_images,
)
from brittlestar.perturbations.images import ImagePerturbation
from brittlestar.perturbations.step import Step, for_lanes

_Length = Annotated[float, Bound("at least 0 and finite", lambda length: 0 <= length < np.inf)]


@dataclass
class MotionBlurredImage(ImagePerturbation):
    """Gives every point a trail: shows `sum_k w(k) x(p - k d)`, `k = 0, 1, 2, ...`, in a random direction `d`.

    With `r = level * motion_pixels`, `w` is constant up to `r` (the camera moves evenly while the shutter is open), or
    it falls as half a Gaussian with standard deviation `r`. The direction is to the right, turned by
    `angle_degrees * U(-1, 1)`. The edge continues beyond the image.

    Example:
        >>> from gymnasium import spaces
        >>> blur = MotionBlurredImage(motion_pixels=2, angle_degrees=0)
        >>> blur.bind(spaces.Box(0, 255, (1, 5), np.uint8), spaces.Discrete(2), lanes=1)
        >>> blur.perturb_observation(np.array([[[0, 90, 0, 0, 0]]], np.uint8), Step.full()).tolist()
        [[[0, 30, 30, 30, 0]]]
    """

    strength_field: ClassVar[str] = "motion_pixels"
    motion_pixels: _Length
    kernel: Kernel = "box"
    angle_degrees: Annotated[float, Bound("in [0, 180]", lambda angle: 0 <= angle <= 180)] = 180.0
    """Largest angle between the trail and the horizontal, to both sides; 180 is any direction."""
    per_episode: bool = False
    """Whether the direction is drawn once per episode; otherwise at every step."""

    def paint(self, pixels: np.ndarray, white: float, step: Step) -> np.ndarray:
        images, _ = self.in_floats(pixels, "motion_pixels", step)
        motion = self.in_lanes("motion_pixels", step)
        turn = 2 * step.draws.uniform(per_episode=self.per_episode) - 1
        angles = np.deg2rad(self.in_lanes("angle_degrees", step) * turn)
        return smear_images(images, kernel_weights(motion, self.kernel, max(pixels.shape[1:3])), angles)


@dataclass
class ZoomBlurredImage(ImagePerturbation):
    """Shows the mean of the image enlarged about its centre by `(1 + level * zoom) ** (k / n)`, `k = 0..n`.

    `n = 2**m - 1` is the smallest such number that leaves at most one pixel between two neighbouring factors.

    Example:
        >>> from gymnasium import spaces
        >>> blur = ZoomBlurredImage(zoom=1.0)
        >>> blur.bind(spaces.Box(0, 255, (1, 3), np.uint8), spaces.Discrete(2), lanes=1)
        >>> blur.perturb_observation(np.array([[[0, 60, 120]]], np.uint8), Step.full()).tolist()
        [[[15, 60, 105]]]
    """

    strength_field: ClassVar[str] = "zoom"
    zoom: _Length

    def paint(self, pixels: np.ndarray, white: float, step: Step) -> np.ndarray:
        images, _ = self.in_floats(pixels, "zoom", step)
        zoom = self.in_lanes("zoom", step)
        if (zoom == zoom[0]).all():
            return zoom_images(images, float(zoom[0]))
        blurred = np.empty_like(images)
        for value in np.unique(zoom).tolist():
            blurred[zoom == value] = zoom_images(images[zoom == value], value)
        return blurred


@dataclass
class GlassBlurredImage(ImagePerturbation):
    """Blurs, takes every pixel from a random place nearby, `rounds` times, and blurs again.

    With `r = level * reach_pixels`, the place is `rint((e + 1/2) * U(-1, 1))` rows and columns away, with the `e` that
    gives these distances the variance of `U(-r, r)`. The blurs are Gaussian with standard deviation `blur * r`.

    Example:
        >>> from gymnasium import spaces
        >>> glass, line = GlassBlurredImage(reach_pixels=1, blur=0, rounds=1), np.arange(0, 250, 25, np.uint8)
        >>> glass.bind(spaces.Box(0, 255, (1, 10), np.uint8), spaces.Discrete(2), lanes=1)
        >>> seen = glass.perturb_observation(line[None, None], Step.full())[0, 0].astype(int)
        >>> bool((seen != line).any()), sorted({int(d) for d in abs(seen - line)})
        (True, [0, 25])
    """

    strength_field: ClassVar[str] = "reach_pixels"
    reach_pixels: _Length
    blur: _Length = 0.5
    """Standard deviation of the blur before and after, as a multiple of the reach."""
    rounds: PositiveInt = 2
    per_episode: bool = True
    """Whether the places are drawn once per episode, as behind a pane that does not move; otherwise at every step."""

    def paint(self, pixels: np.ndarray, white: float, step: Step) -> np.ndarray:
        images, _ = self.in_floats(pixels, "reach_pixels", step)
        reach, rounds = self.in_lanes("reach_pixels", step), np.rint(self.in_lanes("rounds", step))
        weights = kernel_weights(reach * self.in_lanes("blur", step), "gaussian", max(pixels.shape[1:3]))
        images = blur_images(images, weights)
        for i in range(self.rounds):
            # Each round has its own draws, and draws also if its schedule leaves it out, so that no other draw changes.
            numbers = step.draws.uniform((2, *pixels.shape[1:3]), per_episode=self.per_episode)
            if (i < rounds).any():
                images = shuffle_pixels(images, _offsets(numbers, np.where(i < rounds, reach, 0.0)))
        return blur_images(images, weights)


def _offsets(numbers: np.ndarray, reach: np.ndarray) -> np.ndarray:
    """Returns whole distances with the variance of `U(-reach, reach)` from uniform numbers, `(lanes, ...)`."""
    # In place and in single precision: most of the time is that of new memory.
    offsets, extent = numbers.astype(np.float32), for_lanes(_extent(reach).astype(np.float32), numbers)
    offsets -= 0.5
    offsets *= 2 * extent + 1
    np.rint(offsets, out=offsets)
    # A number that rounds to 1 would be one pixel too far.
    return np.clip(offsets, -np.ceil(extent), np.ceil(extent), out=offsets)


def _extent(reach: np.ndarray) -> np.ndarray:
    """Returns the `e` for which `rint((e + 1/2) * U(-1, 1))` has the variance `reach ** 2 / 3`."""
    # The distances 0..n have the weight 1, and n + 1 has the weight e - n; n (n + 1) / 3 is the variance without it.
    n, variance = np.floor((np.sqrt(4 * reach**2 + 1) - 1) / 2), reach**2 / 3
    inner = n * (n + 1) * (2 * n + 1) / 3
    return np.asarray((variance + 2 * n * (n + 1) ** 2 - inner) / (2 * (n + 1) ** 2 - 2 * variance))
