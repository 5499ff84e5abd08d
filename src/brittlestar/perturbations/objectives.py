"""Objectives of attacks: how far the outputs of a policy are from its clean outputs, and the gradient."""

from collections.abc import Callable

import numpy as np
from gymnasium import spaces

from brittlestar.errors import UserError

Objective = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]
"""`(outputs, clean outputs)` to `D`, `(lanes,)`, and `dD/doutputs`, `(lanes, outputs)`."""


def distance(outputs: np.ndarray, clean: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns `D = |a - a_clean|^2` and its gradient.

    Example:
        >>> value, slope = distance(np.array([[3.0, 0.0]]), np.array([[0.0, 4.0]]))
        >>> value.tolist(), slope.tolist()
        ([25.0], [[6.0, -8.0]])
    """
    gap = outputs - clean
    # One product per lane: the bits of a lane must not depend on the others.
    return np.matmul(gap[:, None], gap[:, :, None])[:, 0, 0], 2.0 * gap


def margin(space: spaces.Space) -> Objective:
    """Returns the objective of discrete actions: the margin of the best other choice over the clean one.

    `D = sum_k (max_{j != c_k} z_kj - z_kc_k)` over the choices `k` of an action, with scores `z` and the clean choice
    `c_k`. A binary choice with one score is 1 above 0: `D = -z` or `D = z`.

    Example:
        >>> value, slope = margin(spaces.Discrete(3))(np.array([[1.0, 5.0, 4.0]]), np.array([[2.0, 0.0, 0.0]]))
        >>> value.tolist(), slope.tolist()
        ([4.0], [[-1.0, 1.0, 0.0]])
    """
    if isinstance(space, spaces.Discrete):
        counts = [int(space.n)]
    elif isinstance(space, spaces.MultiDiscrete):
        counts = space.nvec.ravel().tolist()
    elif isinstance(space, spaces.MultiBinary):
        counts = [2] * int(np.prod(space.shape))
    else:
        raise UserError(f"attacks need actions in a box, or choices, got {space}")

    def measure(outputs: np.ndarray, clean: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if isinstance(space, spaces.MultiBinary) and outputs.shape[1] == len(counts):
            slope = np.where(clean > 0, -1.0, 1.0)
            return _sum(slope * outputs), slope
        slope, lanes, start = np.zeros_like(outputs), np.arange(len(outputs)), 0
        for count in counts:
            chosen = start + clean[:, start : start + count].argmax(axis=1)
            scores = outputs[:, start : start + count].copy()
            scores[lanes, chosen - start] = -np.inf
            slope[lanes, start + scores.argmax(axis=1)] += 1.0
            slope[lanes, chosen] -= 1.0
            start += count
        return _sum(slope * outputs), slope

    return measure


def _sum(terms: np.ndarray) -> np.ndarray:
    return np.asarray(np.matmul(terms[:, None], np.ones((terms.shape[1], 1)))[:, 0, 0])
