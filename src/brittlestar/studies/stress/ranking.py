"""Agents against each other: the published robust score, return and stability as two axes, and ranks."""

import numpy as np

from brittlestar.statistics import intervals

_DIGITS = 12
"""Scores that differ by rounding only are the same."""


def reward_norm(returns: np.ndarray) -> np.ndarray:
    """Returns mean returns, min-max normalised over the agents of an environment (last axis); 0 where all are the same.

    Example:
        >>> reward_norm(np.array([1.0, 3.0, 2.0])).tolist()
        [0.0, 1.0, 0.5]
    """
    low, high = (end.reduce(returns, axis=-1, keepdims=True) for end in (np.fmin, np.fmax))
    return (returns - low) / np.where(high > low, high - low, 1.0)


def robust_score(identity: np.ndarray, rate_shock: np.ndarray, normed_return: np.ndarray) -> np.ndarray:
    """Returns the published score of each agent: `.55 identity + .30 (1 - rate_shock) + .15 normed_return`.

    Example:
        >>> robust_score(np.array([1.0]), np.array([0.0]), np.array([1.0])).tolist()
        [1.0]
    """
    return 0.55 * identity + 0.30 * (1.0 - rate_shock) + 0.15 * normed_return


def pareto_front(normalised_return: np.ndarray, stability: np.ndarray) -> np.ndarray:
    """Returns which agents no other agent beats on one axis without losing on the other.

    Example:
        >>> pareto_front(np.array([1.0, 0.5, 0.4]), np.array([0.2, 0.9, 0.8])).tolist()
        [True, True, False]
    """
    points = np.column_stack([normalised_return, stability])
    at_least = (points[:, None] >= points[None]).all(axis=2)
    better = (points[:, None] > points[None]).any(axis=2)
    return np.asarray(~(at_least & better).any(axis=0))


def ranks(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns the best and the worst rank of each agent (last axis), 1 for the highest score; apart only in a tie.

    nan has no rank, and does not count for the others.

    Example:
        >>> np.stack(ranks(np.array([0.5, 0.9, 0.5, np.nan]))).tolist()
        [[2.0, 1.0, 2.0, nan], [3.0, 1.0, 3.0, nan]]
    """
    scores = np.round(scores, _DIGITS)
    # Agent by agent: all pairs of all draws at once would fill the memory.
    agents = [scores[..., i, None] for i in range(scores.shape[-1])]
    best = np.stack([1.0 + (scores > score).sum(axis=-1) for score in agents], axis=-1)
    worst = np.stack([(scores >= score).sum(axis=-1) for score in agents], axis=-1)
    missing = np.isnan(scores)
    return np.where(missing, np.nan, best), np.where(missing, np.nan, worst)


def rank_intervals(scores: np.ndarray, draws: np.ndarray) -> tuple[np.ndarray, ...]:
    """Returns the rank of each agent, and the bounds of its interval from replicates `(resamples, agents)`.

    Agents in a tie share the best rank of theirs, and their intervals hold all ranks that they could have.

    Example:
        >>> scores = np.array([0.9, 0.9, 0.1])
        >>> np.stack(rank_intervals(scores, np.tile(scores, (100, 1)))).tolist()
        [[1.0, 1.0, 3.0], [1.0, 1.0, 3.0], [2.0, 2.0, 3.0]]
    """
    best, worst = ranks(scores)
    drawn_best, drawn_worst = ranks(np.where(np.isnan(scores), np.nan, draws))
    low = intervals.percentile_interval(drawn_best).low
    high = intervals.percentile_interval(drawn_worst).high
    return best, np.fmin(best, np.asarray(low)), np.fmax(worst, np.asarray(high))
