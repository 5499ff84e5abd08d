"""Convolutions and pooling of images in plain numpy; a lane has the same bits in any number of lanes."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.lib.stride_tricks import as_strided

_Place = tuple[slice, slice, slice]
_ONE_THREAD = 1 << 18
"""Most multiplications of a product that OpenBLAS computes in one thread."""


@dataclass(frozen=True)
class Convolution:
    """Computes `sum(kernel * window) + biases` for every window of an image.

    Example:
        >>> mean = Convolution(np.full((2, 2, 1, 1), 0.25), np.zeros(1), stride=2)
        >>> mean.apply(np.arange(16.0).reshape(1, 4, 4, 1))[0, :, :, 0].tolist()
        [[2.5, 4.5], [10.5, 12.5]]
    """

    kernel: np.ndarray
    """`(height, width, channels, outputs)`."""
    biases: np.ndarray
    """`(outputs,)`."""
    stride: int = 1
    """Pixels between two windows."""
    padding: int = 0
    """Pixels of value 0 around an image."""

    @classmethod
    def of_torch(cls, weights: np.ndarray, biases: np.ndarray, stride: int = 1, padding: int = 0) -> Self:
        """Takes the tensors of a `torch.nn.Conv2d`, whose weights are `(outputs, channels, height, width)`."""
        # The memory order of the weights also decides the order of the sums.
        kernel = weights.transpose(2, 3, 1, 0).astype(np.float32, order="C")
        return cls(kernel, biases.astype(np.float32), stride, padding)

    @property
    def _matrix(self) -> np.ndarray:
        return self.kernel.reshape(-1, self.kernel.shape[-1])

    def apply(self, images: np.ndarray) -> np.ndarray:
        """Returns `(lanes, rows, columns, outputs)` from images `(lanes, height, width, channels)`."""
        windows = self._windows(_framed(images, self.padding, 0.0))
        lanes, rows, columns = windows.shape[:3]
        outputs = _multiply(windows.reshape(lanes, rows * columns, -1), self._matrix)
        outputs += self.biases
        return outputs.reshape(lanes, rows, columns, -1)

    def _windows(self, images: np.ndarray) -> np.ndarray:
        """Returns a view `(lanes, rows, columns, height, width * channels)`."""
        # In this order, a row of a window is one piece of memory.
        images = np.ascontiguousarray(images)
        lanes, length, breadth, channels = images.shape
        height, width = self.kernel.shape[:2]
        rows, columns = (length - height) // self.stride + 1, (breadth - width) // self.stride + 1
        lane, row, column, number = images.strides
        shape = (lanes, rows, columns, height, width * channels)
        return as_strided(images, shape, (lane, self.stride * row, self.stride * column, row, number), writeable=False)

    def pull(self, gradient: np.ndarray, images: np.ndarray) -> np.ndarray:
        """Returns the gradient of the images from that of the outputs."""
        lanes, rows, columns = gradient.shape[:3]
        flat = _multiply(gradient.reshape(lanes, rows * columns, -1), np.ascontiguousarray(self._matrix.T))
        windows = flat.reshape(lanes, rows, columns, *self.kernel.shape[:3])
        back = _framed(np.zeros(images.shape, gradient.dtype), self.padding, 0.0)
        for y, x in np.ndindex(self.kernel.shape[:2]):
            back[_every(self.stride, y, rows, x, columns)] += windows[:, :, :, y, x]
        return _inside(back, self.padding)


class MaxPool:
    """Takes the maximum of 3 x 3 pixels around every second pixel: `torch.nn.MaxPool2d(3, stride=2, padding=1)`.

    Example:
        >>> MaxPool().apply(np.arange(16.0).reshape(1, 4, 4, 1))[0, :, :, 0].tolist()
        [[5.0, 7.0], [13.0, 15.0]]
    """

    def apply(self, images: np.ndarray) -> np.ndarray:
        """Returns `(lanes, rows, columns, channels)`, half of the images' height and width, rounded up."""
        framed = _framed(images, 1, -np.inf)
        first, *others = (framed[place] for place in self._places(images))
        maxima = first.copy()
        for pixels in others:
            np.maximum(maxima, pixels, out=maxima)
        return maxima

    def pull(self, gradient: np.ndarray, images: np.ndarray) -> np.ndarray:
        """Returns the gradient of the images from that of the maxima. The first of equal pixels gets it."""
        framed, maxima, left = _framed(images, 1, -np.inf), self.apply(images), gradient.copy()
        back = np.zeros(framed.shape, gradient.dtype)
        for place in self._places(images):
            share = np.where(framed[place] == maxima, left, 0)
            back[place] += share
            left -= share
        return _inside(back, 1)

    def _places(self, images: np.ndarray) -> list[_Place]:
        rows, columns = (-(-side // 2) for side in images.shape[1:3])
        return [_every(2, y, rows, x, columns) for y, x in np.ndindex(3, 3)]


def _framed(images: np.ndarray, pixels: int, value: float) -> np.ndarray:
    """Returns images with some pixels of one value around them."""
    if pixels == 0:
        return images
    lanes, height, width, channels = images.shape
    framed = np.full((lanes, height + 2 * pixels, width + 2 * pixels, channels), value, images.dtype)
    _inside(framed, pixels)[:] = images
    return framed


def _inside(framed: np.ndarray, pixels: int) -> np.ndarray:
    return framed[:, pixels : framed.shape[1] - pixels, pixels : framed.shape[2] - pixels]


def _every(stride: int, y: int, rows: int, x: int, columns: int) -> _Place:
    """Returns the place of one pixel in all windows, by its place in the first one."""
    return slice(None), slice(y, y + stride * rows, stride), slice(x, x + stride * columns, stride)


def _multiply(rows: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """Returns `rows @ matrix` for every lane, from `(lanes, n, inputs)` and `(inputs, outputs)`."""
    # The order of BLAS's sums depends on the number of rows, and on some processors on the number of threads. So a
    # product holds rows of one lane only, and so few of them that BLAS takes one thread.
    step = max(1, _ONE_THREAD // matrix.size)
    outputs = np.empty((*rows.shape[:2], matrix.shape[1]), matrix.dtype)
    for start in range(0, rows.shape[1], step):
        part = slice(start, start + step)
        np.matmul(rows[:, part], matrix, out=outputs[:, part])
    return outputs
