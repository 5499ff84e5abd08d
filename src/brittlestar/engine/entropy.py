"""How evenly an episode spreads its actions, in [0, 1], as the published benchmark measures it."""

import math

import numpy as np

_MOST_BINS = 10
_TINY = 1e-9
"""The benchmark's guard against division by zero. Its scores magnify entropies 18,000 times, so it shows."""
_TINY_SHARE = 1e-12
_SMALLEST_RANGE = 1e-3


def action_entropy(actions: np.ndarray) -> float:
    """Returns the normalised entropy of an episode's actions, `(steps,)` or `(steps, size)`.

    Whole numbers: over the values in use. Vectors: the mean over principal components of the entropy of a histogram
    between the extremes of each. A single number that only ever takes whole values, or hardly moves, counts as whole.

    Example:
        >>> round(action_entropy(np.array([0, 1, 0, 1])), 6), action_entropy(np.array([2, 2, 2]))
        (1.0, 0.0)
    """
    if not len(actions):
        return 0.0
    table = actions.reshape(len(actions), -1)
    if _is_whole(table):
        return count_entropy(np.unique(table.astype(np.int64), return_counts=True)[1])
    table = table.astype(np.float64)
    if table.shape[1] > 1 and len(table) > 1:
        centred = table - table.mean(axis=0, keepdims=True)
        table = centred @ np.linalg.svd(centred, full_matrices=False)[2].T
    return axis_entropy(table)


def axis_entropy(actions: np.ndarray) -> float:
    """Returns the mean over the numbers of an action of the entropy of its histogram; units do not matter."""
    return float(np.mean([_histogram_entropy(column) for column in actions.T.astype(np.float64)]))


def count_entropy(counts: np.ndarray) -> float:
    """Returns the entropy of how often each action was taken, over those in use."""
    used = counts[counts > 0]
    return _normalised(used, len(used))


def share_entropy(shares: np.ndarray) -> np.ndarray:
    """Returns the entropy of shares `(episodes, actions)` relative to all actions at equal shares.

    The shares are sorted first, so that other names for the actions change nothing, not even a rounding.

    Example:
        >>> share_entropy(np.array([[0.5, 0.5, 0.0, 0.0]])).tolist()
        [0.5]
    """
    ordered = np.sort(shares, axis=1)
    terms = np.where(ordered > 0, ordered * np.log(np.where(ordered > 0, ordered, 1.0)), 0.0)
    return -terms.sum(axis=1) / math.log(max(shares.shape[1], 2))


def _is_whole(table: np.ndarray) -> bool:
    if table.dtype.kind in "iub":
        return True
    if table.shape[1] > 1:
        return False
    return bool((table == np.floor(table)).all() or np.ptp(table) <= _SMALLEST_RANGE)


def _histogram_entropy(column: np.ndarray) -> float:
    low, high = float(column.min()), float(column.max())
    if high - low < _TINY:
        return 0.0
    bins = max(2, min(_MOST_BINS, len(column) // 2))
    counts, _ = np.histogram(column, bins=bins, range=(low - _TINY, high + _TINY))
    return _normalised(counts[counts > 0], bins)


def _normalised(counts: np.ndarray, most: int) -> float:
    shares = counts / counts.sum()
    entropy = -float(np.sum(shares * np.log(shares + _TINY_SHARE)))
    return min(1.0, max(0.0, entropy / ((math.log(most) if most > 1 else 1.0) + _TINY)))
