"""Filters of image batches, `(lanes, H, W, channels)` of floats: each lane has its own strength and its own bits.

They use element-wise operations only. The rounding of matrix products depends on the number of threads.
"""

from typing import Literal

import numpy as np

Kernel = Literal["gaussian", "box"]
"""Shape of a blur."""
_REACH = {"gaussian": 3, "box": 1}
"""Where a kernel ends, in radii."""


def kernel_weights(radius: np.ndarray, kernel: Kernel, widest: int) -> np.ndarray:
    """Returns the weights of a kernel at the distances 0, 1, 2, ... in pixels, one row per lane.

    Args:
        radius: `(lanes,)`, standard deviation of a Gaussian, which ends at three of them; or length of a box.
        kernel: its shape.
        widest: longer side of the image. A wider kernel averages over the whole image.

    Example:
        >>> kernel_weights(np.array([0.0, 1.5]), "box", widest=8).tolist()
        [[1.0, 0.0, 0.0], [1.0, 1.0, 0.5]]
    """
    radius = np.minimum(radius, widest)[:, None]
    distances = np.arange(int(np.ceil(radius.max() * _REACH[kernel])) + 1)
    if kernel == "box":
        return np.clip(radius + 1 - distances, 0, 1)
    weights = np.exp(-0.5 * np.minimum(distances / np.maximum(radius, 1e-9), 99.0) ** 2)
    # A level of 0.5 gives exactly half the radius, so the kernel must end where that of half the radius does.
    return np.where(distances <= np.ceil(_REACH[kernel] * radius), weights, 0.0)


def blur_images(images: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Returns the weighted means over rows, then over columns, in both directions; the edge continues.

    Example:
        >>> dot = np.array([0.0, 0.0, 90.0, 0.0, 0.0]).reshape(1, 1, 5, 1)
        >>> blur_images(dot, np.array([[1.0, 1.0]])).ravel().tolist()
        [0.0, 30.0, 30.0, 30.0, 0.0]
    """
    shares = (weights / _sums(np.concatenate([weights[:, :0:-1], weights], axis=1))).astype(images.dtype)
    blurred = np.empty_like(images)
    # Lane by lane, because the arrays of one image fit into the cache.
    for lane, image in enumerate(images):
        own = shares[lane, : np.count_nonzero(shares[lane])]
        blurred[lane] = _mean_along(_mean_along(image, own, 0), own, 1)
    return blurred


def smear_images(images: np.ndarray, weights: np.ndarray, angles: np.ndarray) -> np.ndarray:
    """Returns the weighted means along one direction: every point leaves a trail at its angle, in radians.

    An angle of 0 points to the right, a quarter turn up. Positions on the trail are rounded to pixels.

    Example:
        >>> dot = np.array([0.0, 90.0, 0.0, 0.0, 0.0]).reshape(1, 1, 5, 1)
        >>> smear_images(dot, np.array([[1.0, 1.0, 1.0]]), np.zeros(1)).ravel().tolist()
        [0.0, 30.0, 30.0, 30.0, 0.0]
    """
    height, width = images.shape[1:3]
    shares = (weights / _sums(weights)).astype(images.dtype)
    distances = np.arange(weights.shape[1])
    # Beyond the image, the edge is the same everywhere.
    down, right = min(height, distances[-1]), min(width, distances[-1])
    padded = np.pad(images, ((0, 0), (down, down), (right, right), (0, 0)), mode="edge")
    rows = np.clip(np.rint(distances * np.sin(angles)[:, None]), -down, down).astype(int) + down
    columns = np.clip(np.rint(-distances * np.cos(angles)[:, None]), -right, right).astype(int) + right
    smeared, part = np.zeros_like(images), np.empty_like(images[0])
    for lane, place in np.argwhere(shares).tolist():
        row, column = rows[lane, place], columns[lane, place]
        np.multiply(padded[lane, row : row + height, column : column + width], shares[lane, place], out=part)
        smeared[lane] += part
    return smeared


def zoom_images(images: np.ndarray, zoom: float) -> np.ndarray:
    """Returns the mean of images enlarged about their centre by `(1 + zoom) ** (k / n)`, `k = 0..n`, `n = 2**m - 1`.

    Two neighbouring factors are at most one pixel apart at the edge of the image. `m` passes give all of them: each is
    the mean of the image and the image enlarged.

    Example:
        >>> line = np.array([0.0, 60.0, 120.0]).reshape(1, 1, 3, 1)
        >>> zoom_images(line, 1.0).ravel().tolist()  # the mean of [0, 60, 120] and of [30, 60, 90]
        [15.0, 60.0, 105.0]
    """
    height, width = images.shape[1:3]
    shift = zoom / (1 + zoom) * max(height, width) / 2
    passes = int(np.ceil(np.log2(1 + shift)))
    # With the lanes last, numpy copies runs of many numbers.
    image = np.array(np.moveaxis(images, 0, 2), order="C")
    for i in range(passes):
        factor = (1 + zoom) ** (2**i / (2**passes - 1))
        image += interpolate(interpolate(image, _enlarged(height, factor), 0), _enlarged(width, factor), 1)
        image *= 0.5
    return np.ascontiguousarray(np.moveaxis(image, 2, 0))


def shuffle_pixels(images: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Returns images whose pixels come from other places: `offsets`, `(lanes, 2, H, W)`, in whole rows and columns.

    Example:
        >>> line = np.array([1.0, 2.0, 3.0]).reshape(1, 1, 3, 1)
        >>> right = np.array([[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]]).reshape(1, 2, 1, 3)
        >>> shuffle_pixels(line, right).ravel().tolist()
        [2.0, 3.0, 3.0]
    """
    lanes, height, width, channels = images.shape
    rows = np.clip(offsets[:, 0] + np.arange(height, dtype=offsets.dtype)[:, None], 0, height - 1)
    columns = np.clip(offsets[:, 1] + np.arange(width, dtype=offsets.dtype), 0, width - 1)
    places = rows.astype(np.intp) * width + columns.astype(np.intp)
    places += np.arange(lanes)[:, None, None] * (height * width)
    return np.take(images.reshape(-1, channels), places, axis=0)


def interpolate(array: np.ndarray, positions: np.ndarray, axis: int) -> np.ndarray:
    """Returns the values at fractional positions of an axis, between the two nearest ones.

    Example:
        >>> interpolate(np.array([0.0, 10.0, 40.0]), np.array([0.0, 0.5, 1.5, 2.0]), axis=0).tolist()
        [0.0, 5.0, 25.0, 40.0]
    """
    below = np.floor(positions).astype(int)
    above = np.minimum(below + 1, array.shape[axis] - 1)
    share = (positions - below).astype(array.dtype).reshape(-1, *[1] * (array.ndim - axis - 1))
    low, between = np.take(array, below, axis=axis), np.take(array, above, axis=axis)
    # In place: most of the time is that of new memory.
    between -= low
    between *= share
    between += low
    return between


def _enlarged(length: int, factor: float) -> np.ndarray:
    """Returns where the pixels of an enlarged row come from."""
    centre = (length - 1) / 2
    return centre + (np.arange(length) - centre) / factor


def _mean_along(image: np.ndarray, shares: np.ndarray, axis: int) -> np.ndarray:
    reach, length = len(shares) - 1, image.shape[axis]
    padded = np.take(image, np.clip(np.arange(-reach, length + reach), 0, length - 1), axis=axis)
    mean, pair = image * shares[0], np.empty_like(image)
    # Views with the axis first, which share memory with the arrays.
    source, target = padded.swapaxes(0, axis), pair.swapaxes(0, axis)
    for distance in range(1, reach + 1):
        before, after = reach - distance, reach + distance
        np.add(source[before : before + length], source[after : after + length], out=target)
        pair *= shares[distance]
        mean += pair
    return np.asarray(mean)


def _sums(weights: np.ndarray) -> np.ndarray:
    # One after the other: weights of 0 at the ends, which depend on the other lanes, do not change the rounding.
    return np.cumsum(weights, axis=1)[:, -1:]
