"""Gradients of any policy with continuous actions, by finite differences."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from brittlestar.policies.base import Answer, Observation, Policy

_STEP = 0.1
"""Length of a finite difference, as a fraction of the searched radius."""


def by_differences(
    policy: Policy, observation: Observation, state: Any, first: np.ndarray, radius: Mapping[str, np.ndarray]
) -> Answer:
    """Estimates the gradient by `(pi(x + h e_i) - pi(x - h e_i)) / 2h` for every observed number `i`.

    The gradient function queries the policy twice per number. `h` is a tenth of `radius`, so that it averages over
    smaller kinks.

    Args:
        policy: a policy with continuous actions.
        observation: `x`.
        state: state of the policy from the previous step.
        first: `(lanes,)`, true where an episode starts.
        radius: half the width of the searched box, for each entry that is differentiated.

    Example:
        >>> from brittlestar.policies import as_policy
        >>> twice = as_policy(lambda observation: 2 * observation)
        >>> answer = by_differences(twice, np.ones((1, 2)), None, np.ones(1, bool), {"": np.ones((1, 2))})
        >>> answer.pull(np.array([[1.0, 10.0]]))[""].round(6).tolist()
        [[2.0, 20.0]]
    """
    entries = {key: np.asarray(observation[key] if key else observation) for key in radius}

    def query(key: str, part: np.ndarray) -> np.ndarray:
        """Returns the actions with one entry of the observation replaced."""
        actions, _ = policy.predict(observation | {key: part} if key else part, state, first)
        return np.asarray(actions, dtype=np.float64).reshape(len(first), -1)

    return Answer(
        query(*next(iter(entries.items()))),
        lambda gradient: {key: _pull(partial(query, key), entries[key], radius[key], gradient) for key in radius},
    )


def _pull(
    query: Callable[[np.ndarray], np.ndarray], part: np.ndarray, radius: np.ndarray, gradient: np.ndarray
) -> np.ndarray:
    steps = np.where(radius > 0, _STEP * radius, 1.0)
    slopes = []
    for place in np.ndindex(part.shape[1:]):
        ends = []
        for sign in (1.0, -1.0):
            moved = part.astype(np.float64)
            moved[:, *place] += sign * steps[:, *place]
            ends.append(query(moved))
        slopes.append((ends[0] - ends[1]) / (2.0 * steps[:, *place, None]))
    # `(lanes, 1, outputs) @ (lanes, outputs, numbers)`
    return np.asarray(np.matmul(gradient[:, None], np.stack(slopes, axis=2)).reshape(part.shape))
