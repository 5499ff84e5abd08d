"""How far a policy is from logged trajectories, without running an environment."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


def action_mse(predicted: ArrayLike, logged: ArrayLike) -> float:
    """Mean squared difference of actions, over steps and action dimensions.

    Example:
        >>> action_mse([[0.0, 1.0], [0.0, 0.0]], [[0.0, 0.0], [1.0, 0.0]])
        0.5
    """
    ours, theirs = _steps("predicted", predicted), _steps("logged", logged)
    _same_shape("predicted", ours, theirs)
    return float(np.mean((ours - theirs) ** 2))


def action_log_likelihood(mean: ArrayLike, std: ArrayLike, logged: ArrayLike) -> float:
    """Mean over steps of the log density of logged actions under `N(mean, diag(std^2))`.

    Args:
        mean: shape (steps, action size).
        std: anything that broadcasts to `mean`, above 0.
        logged: shape of `mean`.

    Example:
        >>> round(action_log_likelihood([[0.0]], 1.0, [[0.0]]), 4)
        -0.9189
    """
    centre, actions = _steps("mean", mean), _steps("logged", logged)
    _same_shape("mean", centre, actions)
    scale = np.asarray(std, dtype=np.float64)
    if not np.all(scale > 0):
        raise ValueError(f"`std` must be above 0, got {scale.min()}")
    if not _broadcasts(scale.shape, centre.shape):
        raise ValueError(f"`std` must broadcast to the shape of `mean`, {centre.shape}, got {scale.shape}")
    log_density = -0.5 * ((actions - centre) / scale) ** 2 - np.log(scale) - 0.5 * math.log(2 * math.pi)
    return float(log_density.sum(axis=-1).mean())


def discrete_log_likelihood(probabilities: ArrayLike, logged: ArrayLike) -> float:
    """Mean over steps of the log probability of logged actions; -inf if one has probability 0.

    Args:
        probabilities: shape (steps, actions), every row sums to 1.
        logged: index of the action taken, shape (steps,).

    Example:
        >>> round(discrete_log_likelihood([[0.5, 0.5], [0.25, 0.75]], [0, 1]), 4)
        -0.4904
    """
    table = _steps("probabilities", probabilities)
    if np.any(table < 0) or not np.allclose(table.sum(axis=-1), 1, atol=1e-4):
        raise ValueError(f"`probabilities` must be at least 0 and sum to 1, got sums {table.sum(axis=-1)}")
    with np.errstate(divide="ignore"):
        return float(np.mean(_picked("probabilities", np.log(table), logged)))


def logit_log_likelihood(logits: ArrayLike, logged: ArrayLike) -> float:
    """Like `discrete_log_likelihood`, from unnormalised log probabilities of shape (steps, actions).

    Example:
        >>> round(logit_log_likelihood([[0.0, 0.0]], [1]), 4)
        -0.6931
    """
    table = _steps("logits", logits)
    shifted = table - table.max(axis=-1, keepdims=True)
    log_probability = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return float(np.mean(_picked("logits", log_probability, logged)))


def dtw_distance(a: ArrayLike, b: ArrayLike) -> float:
    """Dynamic time warping: the smallest sum of Euclidean distances over monotone alignments.

    Trajectories have shape (steps,) or (steps, size) and may differ in steps. The sum is not divided
    by the length of the path.

    Example:
        >>> dtw_distance([0, 1, 2], [0, 0, 1, 2, 2])
        0.0
        >>> dtw_distance([0, 1], [0, 3])
        2.0
    """
    first, second = _trajectory("a", a), _trajectory("b", b)
    if first.shape[1] != second.shape[1]:
        raise ValueError(f"`b` must have {first.shape[1]} numbers per step like `a`, got {second.shape[1]}")
    n, m = len(first), len(second)
    backwards = second[::-1]
    # Cells of one anti-diagonal do not depend on each other. Entry i + 1 stands for row i.
    before, last = np.full(n + 1, np.inf), np.full(n + 1, np.inf)
    before[0] = 0.0
    for diagonal in range(n + m - 1):
        top, end = max(0, diagonal - m + 1), min(n, diagonal + 1)
        columns = backwards[m - 1 - diagonal + top : m - 1 - diagonal + end]
        cost = np.sqrt(np.sum((first[top:end] - columns) ** 2, axis=1))
        now = np.full(n + 1, np.inf)
        best = np.minimum(np.minimum(last[top:end], last[top + 1 : end + 1]), before[top:end])
        now[top + 1 : end + 1] = cost + best
        before, last = last, now
    return float(last[n])


def _steps(name: str, values: ArrayLike) -> Array:
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 2 or table.size == 0:
        raise ValueError(f"`{name}` must have shape (steps, size) and at least 1 step, got {table.shape}")
    return table


def _trajectory(name: str, values: ArrayLike) -> Array:
    table = np.asarray(values, dtype=np.float64)
    return _steps(name, table[:, None] if table.ndim == 1 else table)


def _same_shape(name: str, ours: Array, logged: Array) -> None:
    if ours.shape != logged.shape:
        raise ValueError(f"`logged` must have the shape of `{name}`, {ours.shape}, got {logged.shape}")


def _broadcasts(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    try:
        return np.broadcast_shapes(shape, target) == target
    except ValueError:
        return False


def _picked(name: str, table: Array, logged: ArrayLike) -> Array:
    chosen = np.asarray(logged)
    if chosen.shape != table.shape[:1] or not np.issubdtype(chosen.dtype, np.integer):
        raise ValueError(
            f"`logged` must be {len(table)} integers, one per step of `{name}`, "
            f"got shape {chosen.shape} of {chosen.dtype}"
        )
    if np.any((chosen < 0) | (chosen >= table.shape[1])):
        raise ValueError(f"`logged` must be between 0 and {table.shape[1] - 1}, got {chosen.tolist()}")
    return np.asarray(table[np.arange(len(table)), chosen])
