"""Distances between a policy and recorded trajectories: actions, time warping, sets of features."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from brittlestar.errors import require
from brittlestar.statistics.arrays import Array

_BLOCK_NUMBERS = 4_000_000
"""How many numbers a block of time warping holds at most; more trajectories are warped in several blocks."""


def action_mse(predicted: ArrayLike, recorded: ArrayLike) -> float:
    """Returns the mean squared difference of actions, over steps and components.

    Example:
        >>> action_mse([[0.0, 1.0], [0.0, 0.0]], [[0.0, 0.0], [1.0, 0.0]])
        0.5
    """
    ours, theirs = _steps("predicted", predicted), _steps("recorded", recorded)
    _require_shape("recorded", theirs, ours)
    return float(np.mean((ours - theirs) ** 2))


def dtw_distance(a: ArrayLike, b: ArrayLike) -> float:
    """Returns the dynamic time warping distance: the least sum of Euclidean distances over monotone alignments.

    Trajectories have shape (steps,) or (steps, size) and may differ in steps. The sum is not divided by the length of
    the alignment.

    Example:
        >>> dtw_distance([0, 1, 2], [0, 0, 1, 2, 2]), dtw_distance([0, 1], [0, 3])
        (0.0, 2.0)
    """
    return float(dtw_distances(a, [b])[0])


def dtw_distances(a: ArrayLike, others: Sequence[ArrayLike]) -> Array:
    """Returns the dynamic time warping distance of one trajectory to each of several, see `dtw_distance`."""
    first, rest = _trajectory("a", a), [_trajectory("others", other) for other in others]
    for other in rest:
        require(other.shape[1] == first.shape[1], "others", f"{first.shape[1]} numbers per step", other.shape[1])
    longest = max(map(len, rest), default=1)
    block = max(1, _BLOCK_NUMBERS // (longest * first.shape[1]))
    blocks = [_warp(first, rest[i : i + block]) for i in range(0, len(rest), block)]
    return np.concatenate(blocks) if blocks else np.zeros(0)


def _warp(first: Array, others: list[Array]) -> Array:
    n, ends = len(first), np.array([len(other) for other in others])
    m = int(ends.max())
    # Shorter trajectories are filled behind their ends, where no earlier entry looks.
    backwards = np.zeros((m, len(others), first.shape[1]))
    for place, other in enumerate(others):
        backwards[m - len(other) :, place] = other[::-1]
    distances = np.full(len(others), np.inf)
    # Entries of one anti-diagonal do not depend on each other. Entry i + 1 belongs to step i of `first`.
    before, last = np.full((2, n + 1, len(others)), np.inf)
    before[0] = 0.0
    for diagonal in range(n + m - 1):
        top, end = max(0, diagonal - m + 1), min(n, diagonal + 1)
        columns = backwards[m - 1 - diagonal + top : m - 1 - diagonal + end]
        cost = np.sqrt(((first[top:end, None] - columns) ** 2).sum(axis=2))
        best = np.minimum(np.minimum(last[top:end], last[top + 1 : end + 1]), before[top:end])
        before, last = last, np.full((n + 1, len(others)), np.inf)
        last[top + 1 : end + 1] = cost + best
        ended = ends == diagonal - n + 2
        distances[ended] = last[n, ended]
    return distances


def frechet_distance(a: ArrayLike, b: ArrayLike) -> float:
    """Returns the squared Fréchet distance of Gaussians fitted to two sets of feature vectors, `(n, size)` each.

    It is `|mean_a - mean_b|^2 + tr(A + B - 2 (A B)^(1/2))` with the covariances A and B, the distance behind FID and
    FVD. The trace of the square root is the sum of the singular values of the product of the two centred sets, so that
    no matrix is inverted and no ridge is needed, also with fewer vectors than numbers in each.

    The estimate is biased upwards: two sets of one distribution have a distance above 0, which falls as 1/n and grows
    with the size. Compare sets of equal n, and with the distance between two halves of one set.

    Example:
        >>> round(frechet_distance([[0.0], [2.0]], [[5.0], [7.0]]), 6)
        25.0
    """
    first, second = _steps("a", a), _steps("b", b)
    require(first.shape[1] == second.shape[1], "b", f"{first.shape[1]} numbers per vector", second.shape[1])
    require(min(len(first), len(second)) > 1, "a and b", "sets of at least 2 vectors", (len(first), len(second)))
    shift = first.mean(axis=0) - second.mean(axis=0)
    roots = [_covariance_root(values) for values in (first, second)]
    overlap = np.linalg.svd(roots[0] @ roots[1].T, compute_uv=False).sum()
    spread = sum(float((root**2).sum()) for root in roots)
    return float(max(0.0, shift @ shift + spread - 2 * overlap))


def _covariance_root(values: Array) -> Array:
    """Returns R with few rows and `R^T R` the covariance."""
    root = (values - values.mean(axis=0)) / math.sqrt(len(values) - 1)
    return np.asarray(np.linalg.qr(root, mode="r")) if len(root) > root.shape[1] else root


def _steps(name: str, values: ArrayLike) -> Array:
    table = np.asarray(values, dtype=np.float64)
    require(
        table.ndim == 2 and table.size, name, "of shape (steps, size), with at least 1 step", f"shape {table.shape}"
    )
    return table


def _trajectory(name: str, values: ArrayLike) -> Array:
    table = np.asarray(values, dtype=np.float64)
    return _steps(name, table[:, None] if table.ndim == 1 else table)


def _require_shape(name: str, values: Array, like: Array) -> None:
    require(values.shape == like.shape, name, f"of shape {like.shape}", f"shape {values.shape}")
