"""Helpers for arrays in which nan is a missing value."""

import importlib
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Values = float | Array


def moments(values: Array, axis: int) -> tuple[np.ndarray, Array, Array]:
    """Returns count, mean and standard deviation of the values along an axis; nan is left out."""
    present = ~np.isnan(values)
    n = present.sum(axis=axis)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(present, values, 0.0).sum(axis=axis) / n
        squares = np.where(present, values - np.expand_dims(mean, axis), 0.0) ** 2
        return n, mean, np.where(n > 1, np.sqrt(squares.sum(axis=axis) / (n - 1)), np.nan)


def without_nan(values: ArrayLike) -> Array:
    """Returns the values that are not nan, in one dimension."""
    flat = np.asarray(values, dtype=np.float64).ravel()
    return flat[~np.isnan(flat)]


def as_number(values: Any) -> Values:
    """Returns a float for a single value, else an array."""
    return float(values) if np.ndim(values) == 0 else np.asarray(values, dtype=np.float64)


def special() -> Any:
    """Returns `scipy.special`, loaded on first use: its import takes longer than that of numpy."""
    return importlib.import_module("scipy.special")
