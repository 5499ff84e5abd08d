"""Grey and smaller pictures."""

import functools

import numpy as np

from brittlestar.errors import UserError

_LUMA = np.array([9798, 19235, 3735], dtype=np.float32)


def grey(frame: np.ndarray) -> np.ndarray:
    """Returns the brightness of each pixel: .299 red, .587 green, .114 blue, rounded as in OpenCV.

    Example:
        >>> grey(np.array([[[255, 255, 255], [255, 0, 0], [0, 255, 0], [0, 0, 255]]], np.uint8)).tolist()
        [[255, 76, 150, 29]]
    """
    # Whole numbers below 2 ** 24: exact in single precision, in any order.
    return ((frame.astype(np.float32) @ _LUMA + 2.0**14) * np.float32(2.0**-15)).astype(np.uint8)


def shrink(picture: np.ndarray, size: int | tuple[int, int]) -> np.ndarray:
    """Returns a smaller picture, square or `(height, width)`.

    Each pixel is the mean of its area, as in OpenCV's INTER_AREA.

    Example:
        >>> shrink(np.array([[0, 10, 20, 30], [0, 10, 20, 30]], np.uint8), 2).tolist()
        [[5, 25], [5, 25]]
    """
    height, width = size if isinstance(size, tuple) else (size, size)
    across, down = _taps(picture.shape[1], width), _taps(picture.shape[0], height)
    columns, rows = np.zeros((len(picture), width), np.float32), np.zeros((height, width), np.float32)
    for places, weights in across:
        columns += picture[:, places] * weights
    for places, weights in down:
        rows += columns[places] * weights[:, None]
    return np.rint(rows).astype(np.uint8)


@functools.cache
def _taps(length: int, size: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Returns the indices of the pixels that each new pixel covers, and their shares of it."""
    if size > length:
        raise UserError(f"`env.screen_size` must be at most {length}, got {size}")
    scale = length / size
    edges = np.arange(size + 1) * scale
    first = np.floor(edges[:-1] + 1e-9).astype(np.int64)
    taps = []
    for offset in range(int(np.ceil(scale)) + 1):
        places = first + offset
        covered = np.minimum(places + 1, edges[1:]) - np.maximum(places, edges[:-1])
        share = np.where(covered > 1e-3, covered / scale, 0.0).astype(np.float32)
        taps.append((np.minimum(places, length - 1), share))
    return taps
