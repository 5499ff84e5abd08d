"""Success on a grid of axes against the product of the single axes, by a paired bootstrap over episodes."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from brittlestar.statistics.arrays import Array
from brittlestar.statistics.intervals import t_stretch
from brittlestar.statistics.resampling import bootstrap_means, plus_four, recentre

DRAWS = 20_000
"""Bootstrap replicates: the correction for many combinations needs small p values."""
_PSEUDO_EPISODES = (1.0, 1.0, -1.0, -1.0)


@dataclass(frozen=True)
class Interactions:
    """What the product promises at every place of a grid, and measured minus promised with its replicates.

    Both differ only where at least two axes are above level 0. nan is not known: a cell is missing, or no episode
    succeeds at level 0.
    """

    promised: Array
    """`(levels, levels, ...)`, at most 1."""
    difference: Array
    """`(levels, levels, ...)`."""
    replicates: Array
    """`(DRAWS, levels, levels, ...)`."""


def against_product(successes: Array, rng: np.random.Generator) -> Interactions:
    """Compares success, `(levels, levels, ..., episodes)`, with `S(a, 0) S(0, b) / S(0, 0)`; level 0 comes first.

    The product is linearised around the measured rates, so that every episode has a difference of its own. Their
    mean is bootstrapped, with four pseudo-episodes, as few successes are no certainty, and stretched to the width of
    Student's interval. In simulations it covers 94 to 98 % where the product holds and cells are independent, and more
    where episodes break at levels of their own.

    Example:
        >>> alone, joint = np.arange(20) < 16, np.zeros(20)
        >>> table = np.array([[np.ones(20), alone], [alone, joint]])
        >>> gaps = against_product(table, np.random.default_rng(0))
        >>> round(float(gaps.promised[1, 1]), 2), round(float(gaps.difference[1, 1]), 2)
        (0.64, -0.64)
    """
    count = successes.ndim - 1
    clean, singles = successes[(0,) * count], [_alone(successes, axis) for axis in range(count)]
    kept = [single.mean(axis=-1, keepdims=True) for single in singles]
    # nan without a success: nothing can be promised.
    rate = float(clean.mean()) or np.nan
    scale = rate ** (1 - count)
    product = scale * _product(kept)
    slopes = [scale * _product([*kept[:axis], *kept[axis + 1 :]]) for axis in range(count)]
    promise = sum(slope * single for slope, single in zip(slopes, singles, strict=True))
    gaps = plus_four(successes - (promise - (count - 1) * product / rate * clean), _PSEUDO_EPISODES)
    promised = np.minimum(1.0, product[..., 0])
    difference = successes.mean(axis=-1) - promised
    replicates = recentre(bootstrap_means(gaps, rng, DRAWS), gaps, difference)
    return Interactions(promised, difference, difference + _stretch(successes.shape[-1]) * (replicates - difference))


def _stretch(episodes: int) -> float:
    """Returns how much wider Student's interval is than that of the replicates; nan for a single episode."""
    return float(t_stretch(episodes / max(1, episodes - 1) ** 0.5, episodes))


def _product(factors: list[Array]) -> Array:
    return functools.reduce(np.multiply, factors)


def _alone(successes: Array, axis: int) -> Array:
    """Returns the cells in which only one axis is above level 0, `(1, ..., levels, ..., 1, episodes)`."""
    place = tuple(slice(None) if other == axis else slice(0, 1) for other in range(successes.ndim - 1))
    return successes[place]
