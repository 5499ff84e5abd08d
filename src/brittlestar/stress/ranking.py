"""Agents against each other: the published robust score, and return and stability as two axes."""

from __future__ import annotations

import numpy as np


def reward_norm(returns: np.ndarray) -> np.ndarray:
    """Returns mean returns, min-max normalised over the agents of an environment; 0 where all are the same.

    Example:
        >>> reward_norm(np.array([1.0, 3.0, 2.0])).tolist()
        [0.0, 1.0, 0.5]
    """
    span = float(np.ptp(returns))
    return (returns - returns.min()) / span if span > 0 else np.zeros(len(returns))


def robust_score(identity: np.ndarray, rate_shock: np.ndarray, normed_return: np.ndarray) -> np.ndarray:
    """Returns the published score of each agent: `.55 identity + .30 (1 - rate_shock) + .15 normed_return`.

    Example:
        >>> robust_score(np.array([1.0]), np.array([0.0]), np.array([1.0])).tolist()
        [1.0]
    """
    return 0.55 * identity + 0.30 * (1.0 - rate_shock) + 0.15 * normed_return


def pareto_front(normalised_return: np.ndarray, stability: np.ndarray) -> np.ndarray:
    """Says which agents nobody beats on one axis without losing on the other.

    Example:
        >>> pareto_front(np.array([1.0, 0.5, 0.4]), np.array([0.2, 0.9, 0.8])).tolist()
        [True, True, False]
    """
    points = np.column_stack([normalised_return, stability])
    at_least = (points[:, None] >= points[None]).all(axis=2)
    better = (points[:, None] > points[None]).any(axis=2)
    return np.asarray(~(at_least & better).any(axis=0))
