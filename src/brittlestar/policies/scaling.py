"""Normalisation and padding of the inputs of a network."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Scaling:
    """Running statistics of one entry: `clip((x - mean) / sqrt(var + epsilon))`."""

    mean: np.ndarray
    var: np.ndarray
    epsilon: float = 1e-8
    clip: float = 10.0

    def apply(self, values: np.ndarray) -> np.ndarray:
        """Normalises `(lanes, n)` numbers.

        Example:
            >>> Scaling(mean=np.array([1.0]), var=np.array([4.0]), epsilon=0.0).apply(np.array([[5.0], [99.0]]))
            array([[ 2.],
                   [10.]])
        """
        return np.clip((values - self.mean) / np.sqrt(self.var + self.epsilon), -self.clip, self.clip)

    def pull(self, gradient: np.ndarray, scaled: np.ndarray) -> np.ndarray:
        """Returns the gradient of the values from that of the scaled ones; it is 0 where they are clipped."""
        return np.asarray(gradient * (np.abs(scaled) < self.clip) / np.sqrt(self.var + self.epsilon))


@dataclass(frozen=True)
class Fit:
    """Keeps the first `keep` numbers of an observation and pads with zeros to `width`."""

    keep: int
    width: int

    def apply(self, row: np.ndarray) -> np.ndarray:
        """Cuts and pads `(lanes, n)` numbers.

        Example:
            >>> Fit(keep=2, width=4).apply(np.array([[1.0, 2.0, 3.0]]))
            array([[1., 2., 0., 0.]])
        """
        numbers = row[:, : self.keep]
        return np.pad(numbers, ((0, 0), (0, self.width - numbers.shape[1])))
