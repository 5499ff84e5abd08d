"""Convolutions of images in plain numpy."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

_ONE_THREAD = 1 << 18
"""Most multiplications of a product that OpenBLAS computes in one thread."""


@dataclass(frozen=True)
class Convolution:
    """Computes `sum(kernel * window) + biases` for every window of an image; there is no padding.

    The numbers of a lane have the same bits for any number of lanes.

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

    @classmethod
    def of_torch(cls, weights: np.ndarray, biases: np.ndarray, stride: int) -> Self:
        """Takes the tensors of a `torch.nn.Conv2d`, whose weights are `(outputs, channels, height, width)`."""
        # The memory order of the weights also decides the order of the sums.
        kernel = weights.transpose(2, 3, 1, 0).astype(np.float32, order="C")
        return cls(kernel, biases.astype(np.float32), stride)

    @property
    def _matrix(self) -> np.ndarray:
        return self.kernel.reshape(-1, self.kernel.shape[-1])

    def apply(self, images: np.ndarray) -> np.ndarray:
        """Returns `(lanes, rows, columns, outputs)` from images `(lanes, height, width, channels)`."""
        height, width = self.kernel.shape[:2]
        windows = sliding_window_view(images, (height, width), axis=(1, 2))[:, :: self.stride, :: self.stride]
        lanes, rows, columns = windows.shape[:3]
        flat = np.moveaxis(windows, 3, -1).reshape(lanes, rows * columns, -1)
        outputs = _multiply(flat, self._matrix)
        outputs += self.biases
        return outputs.reshape(lanes, rows, columns, -1)

    def pull(self, gradient: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
        """Returns the gradient of the images, which have this shape, from that of the outputs."""
        lanes, rows, columns = gradient.shape[:3]
        flat = _multiply(gradient.reshape(lanes, rows * columns, -1), np.ascontiguousarray(self._matrix.T))
        windows = flat.reshape(lanes, rows, columns, *self.kernel.shape[:3])
        images = np.zeros(shape, gradient.dtype)
        for y, x in np.ndindex(self.kernel.shape[:2]):
            down = slice(y, y + self.stride * rows, self.stride)
            across = slice(x, x + self.stride * columns, self.stride)
            images[:, down, across] += windows[:, :, :, y, x]
        return images


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
