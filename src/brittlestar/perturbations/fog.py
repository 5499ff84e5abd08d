"""Fog in front of a camera."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from brittlestar.errors import Bound
from brittlestar.perturbations.image_filters import interpolate
from brittlestar.perturbations.images import ImagePerturbation
from brittlestar.perturbations.step import Step


@dataclass
class FoggyImage(ImagePerturbation):
    """Shows `(x + t * white * f) / (1 + t)`, `t = level * thickness`, with clouds `f` from 0 to 1 of each episode.

    The clouds are a plasma fractal, see `plasma`.

    Example:
        >>> from gymnasium import spaces
        >>> fog = FoggyImage(thickness=1.0)
        >>> fog.bind(spaces.Box(0, 255, (8, 8), np.uint8), spaces.Discrete(2), lanes=1)
        >>> seen = fog.perturb_observation(np.zeros((1, 8, 8), np.uint8), Step.full())
        >>> int(seen.min()), int(seen.max())
        (0, 128)
    """

    strength_field: ClassVar[str] = "thickness"
    thickness: Annotated[float, Bound("at least 0 and finite", lambda thickness: 0 <= thickness < np.inf)]
    decay: Annotated[float, Bound("at least 1 and finite", lambda decay: 1 <= decay < np.inf)] = 2.0
    """Smoothness of the clouds: every octave is `decay ** 2` times weaker than the one before."""
    per_episode: bool = True
    """Whether the clouds are drawn once per episode; otherwise at every step."""

    def paint(self, pixels: np.ndarray, white: float, step: Step) -> np.ndarray:
        images, thickness = self.in_floats(pixels, "thickness", step)
        shape = pixels.shape[1:3]
        numbers = step.draws.uniform((plasma_size(shape),), per_episode=self.per_episode)
        # A scheduled decay may fall below 1, which means clouds without any smoothness.
        clouds = plasma(numbers, np.maximum(self.in_lanes("decay", step), 1.0), shape)
        foggy = images + clouds.astype(images.dtype)[..., None] * (white * thickness)
        foggy /= 1 + thickness
        return np.asarray(foggy)


def plasma(numbers: np.ndarray, decay: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Returns smooth random fields from 0 to 1, `(lanes, H, W)`: the sum of octaves of noise.

    Octave `i = 1, 2, ...` has random numbers on a grid of `2**i` cells over the longer side, times `decay ** (-2 i)`,
    and is linear in between.

    Args:
        numbers: uniform numbers, `(lanes, plasma_size(shape))`.
        decay: `(lanes,)`, at least 1; larger is smoother.
        shape: height and width, in pixels.

    Example:
        >>> numbers = np.random.default_rng(0).random((1, plasma_size((4, 5))))
        >>> field = plasma(numbers, np.array([3.0]), (4, 5))
        >>> field.shape, float(field.min()), float(field.max())
        ((1, 4, 5), 0.0, 1.0)
    """
    # With the lanes last, numpy copies runs of many numbers.
    total, rest, longest = np.zeros((*shape, len(numbers))), numbers.T, max(*shape, 2) - 1
    for i, cells in enumerate(_octaves(shape)):
        grid, rest = np.split(rest, [(cells + 1) ** 2])
        octave = grid.reshape(cells + 1, cells + 1, -1) / decay ** (2 * i)
        rows, columns = (np.arange(length) * (cells / longest) for length in shape)
        total += interpolate(interpolate(octave, rows, 0), columns, 1)
    total -= total.min(axis=(0, 1))
    return np.moveaxis(total / np.maximum(total.max(axis=(0, 1)), np.finfo(float).tiny), 2, 0)


def plasma_size(shape: tuple[int, ...]) -> int:
    """Returns how many random numbers a plasma fractal needs.

    Example:
        >>> plasma_size((4, 5))
        34
    """
    return sum((cells + 1) ** 2 for cells in _octaves(shape))


def _octaves(shape: tuple[int, ...]) -> list[int]:
    """Returns the numbers of cells of the grids: 2, 4, ... at most one per pixel."""
    return [2**i for i in range(1, max(int(np.log2(max(shape))), 1) + 1)]
