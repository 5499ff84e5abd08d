"""Outcomes at levels, and the threshold that a curve through them crosses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from brittlestar.errors import require
from brittlestar.statistics.arrays import Array


@dataclass(frozen=True)
class Trials:
    """Outcomes at levels: sums of outcomes in [0, 1] and their numbers, one entry per cell, in the order of time."""

    levels: Array
    sums: Array
    counts: Array
    dispersion: float = 1.0
    """Variance of an outcome relative to that of a success with the same mean, at most 1."""

    @classmethod
    def of(cls, levels: ArrayLike, sums: ArrayLike, counts: ArrayLike, dispersion: float = 1.0) -> Trials:
        """Returns trials from sequences of numbers."""
        arrays = [np.asarray(values, dtype=np.float64) for values in (levels, sums, counts)]
        require(all(array.shape == arrays[0].shape for array in arrays), "sums", "one per level", arrays[1].shape)
        require(arrays[0] >= 0, "levels", "at least 0", levels)
        require((arrays[1] >= 0) & (arrays[1] <= arrays[2]), "sums", "between 0 and the count", sums)
        return cls(arrays[0], arrays[1], arrays[2], dispersion)

    @property
    def total(self) -> int:
        """Number of all outcomes."""
        return int(self.counts.sum())

    def merged(self) -> Trials:
        """Returns one entry per level, in the order of levels."""
        levels, places = np.unique(self.levels, return_inverse=True)
        sums, counts = (np.bincount(places, values).astype(np.float64) for values in (self.sums, self.counts))
        return Trials(levels, sums, counts, self.dispersion)


@dataclass(frozen=True)
class Threshold:
    """The value that a curve falls below: a number, or a share of its value at level 0."""

    value: float
    relative: bool = False

    def of(self, top: ArrayLike) -> Array:
        """Returns the threshold of curves that start at `top`."""
        return self.value * np.asarray(top, dtype=np.float64) if self.relative else np.full(np.shape(top), self.value)
