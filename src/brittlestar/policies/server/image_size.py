"""Resizes images for a policy server, with black bars that keep their proportions."""

from typing import Any

import numpy as np

from brittlestar.errors import UserError
from brittlestar.policies.input_entry import is_image

_CHANNELS = (1, 3, 4)
_LARGEST = 4096


def as_height_and_width(size: int | list[int] | None) -> tuple[int, int] | None:
    """Returns a size in pixels as (height, width); a single number is both.

    Example:
        >>> as_height_and_width(224), as_height_and_width([120, 160])
        ((224, 224), (120, 160))
    """
    if size is None:
        return None
    sides = [size, size] if isinstance(size, int) else list(size)
    if len(sides) != 2 or not all(1 <= side <= _LARGEST for side in sides):
        raise UserError(f"`image_size` must be a side, or height and width, from 1 to {_LARGEST} pixels, got {size}")
    return sides[0], sides[1]


def holds_images(space: Any) -> bool:
    """Whether a space holds images whose channels come last.

    Example:
        >>> from gymnasium import spaces
        >>> [holds_images(spaces.Box(0, 255, shape, np.uint8)) for shape in ((64, 64, 3), (3, 64, 64), (64,))]
        [True, False, False]
    """
    return is_image(space) and space.shape[2] in _CHANNELS


def resize_with_padding(images: np.ndarray, height: int, width: int) -> np.ndarray:
    """Returns images `(count, height, width, channels)` in another size, bilinear, in the middle of a black frame.

    Example:
        >>> resize_with_padding(np.full((1, 2, 4, 3), 9, np.uint8), 4, 4)[0, :, 0, 0].tolist()
        [0, 9, 9, 0]
    """
    if images.shape[1:3] == (height, width):
        return images
    ratio = max(images.shape[1] / height, images.shape[2] / width)
    # At least a pixel: a long line of a camera would vanish.
    inner = max(1, int(images.shape[1] / ratio)), max(1, int(images.shape[2] / ratio))
    top, left = (height - inner[0]) // 2, (width - inner[1]) // 2
    frames = np.zeros((len(images), height, width, images.shape[3]), np.uint8)
    for frame, image in zip(frames, images, strict=True):
        frame[top : top + inner[0], left : left + inner[1]] = _resize(image, *inner)
    return frames


def _resize(image: np.ndarray, height: int, width: int) -> np.ndarray:
    from PIL import Image

    grey = image.shape[2] == 1
    picture = Image.fromarray(np.ascontiguousarray(image[..., 0] if grey else image))
    resized = np.asarray(picture.resize((width, height), Image.Resampling.BILINEAR))
    return resized[..., None] if grey else resized
