"""Grids of parameters that close in on the likely part of a posterior."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from brittlestar.statistics.arrays import Array

_CUT = 10.0
"""An end is cut off if it is so many times as likely as a rare value; with 1, grids would shrink and grow in turn."""
_COARSE = 0.7
"""Largest share of the posterior in one value of a parameter: a grid with more is too coarse."""


class Parameter(NamedTuple):
    """The lowest and the highest value of a parameter, and how many values of it a grid has."""

    low: float
    high: float
    size: int
    rare: float
    """Mass, relative to that of the likeliest value, below which the next grid leaves values out."""


def marginal(posterior: Array, place: int) -> Array:
    """Returns the masses of one parameter."""
    return posterior.sum(axis=tuple(axis for axis in range(posterior.ndim) if axis != place))


def finer_grid(axes: Sequence[Array], posterior: Array, parameters: Sequence[Parameter]) -> list[Array]:
    """Returns a grid on the likely part of another one, and beyond its ends where they are likely.

    Args:
        axes: values of each parameter on the grid.
        posterior: masses on the grid; it may have more dimensions than there are axes.
        parameters: the limits that the grid does not leave, and the number of its values.

    Example:
        >>> masses = np.array([0, 0, 0.2, 0.6, 0.2, 0, 0])
        >>> finer_grid([np.arange(7.0)], masses, [Parameter(0, 6, 5, 0.01)])[0].tolist()
        [1.0, 2.0, 3.0, 4.0, 5.0]
    """
    finer = []
    for place, (axis, parameter) in enumerate(zip(axes, parameters, strict=True)):
        masses, beyond = marginal(posterior, place), (axis[-1] - axis[0]) / 2
        likely = np.flatnonzero(masses > parameter.rare * masses.max())
        # One value beyond the likely ones on each side, but not where one has nearly all: that grid would not shrink.
        margin = 0 if len(likely) > 2 and masses.max() > _COARSE else 1
        low, high = axis[max(likely[0] - margin, 0)], axis[min(likely[-1] + margin, len(axis) - 1)]
        if _is_cut(masses, 0, parameter):
            low = max(axis[0] - beyond, parameter.low)
        if _is_cut(masses, -1, parameter):
            high = min(axis[-1] + beyond, parameter.high)
        finer.append(np.linspace(low, high, parameter.size))
    return finer


def is_fine_grid(axes: Sequence[Array], posterior: Array, parameters: Sequence[Parameter]) -> bool:
    """Returns whether a grid holds the likely values of all parameters, and resolves them."""
    for place, (axis, parameter) in enumerate(zip(axes, parameters, strict=True)):
        masses = marginal(posterior, place)
        is_cut_below = _is_cut(masses, 0, parameter) and axis[0] > parameter.low
        is_cut_above = _is_cut(masses, -1, parameter) and axis[-1] < parameter.high
        if is_cut_below or is_cut_above or masses.max() > _COARSE:
            return False
    return True


def _is_cut(masses: Array, end: int, parameter: Parameter) -> bool:
    return bool(masses[end] > _CUT * parameter.rare * masses.max())
