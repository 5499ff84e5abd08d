"""Batches of observations: an array, or a dict of arrays, with the lanes on the first axis."""

from typing import Any

import numpy as np
from gymnasium import spaces

from brittlestar.errors import HarnessError

ARRAY_SPACES = (spaces.Box, spaces.Discrete, spaces.MultiDiscrete, spaces.MultiBinary)
"""Spaces whose values of all lanes fit into one array."""


def empty_batch(space: spaces.Space, count: int) -> Any:
    """Returns observations of zeros for `count` lanes."""
    if isinstance(space, spaces.Dict):
        return {key: empty_batch(part, count) for key, part in space.items()}
    return np.zeros((count, *(space.shape or ())), dtype=space.dtype)


def entries(batch: Any) -> dict[str, Any]:
    """Returns the arrays of a batch by key; the key of a plain batch is empty."""
    return batch if isinstance(batch, dict) else {"": batch}


def copy_batch(batch: Any) -> Any:
    """Returns a copy of a batch, or of one row of it."""
    if isinstance(batch, dict):
        return {key: array.copy() for key, array in batch.items()}
    return batch.copy()


def as_batch(observation: Any) -> Any:
    """Returns one observation as a batch of one lane."""
    if isinstance(observation, dict):
        return {key: np.asarray(part)[None] for key, part in observation.items()}
    return np.asarray(observation)[None]


def take_row(batch: Any, lane: int) -> Any:
    """Returns the observation of one lane."""
    if isinstance(batch, dict):
        return {key: array[lane] for key, array in batch.items()}
    return batch[lane]


def put_rows(batch: Any, lanes: int | np.ndarray, observation: Any) -> None:
    """Writes the observation of one lane, or of several, into a batch."""
    try:
        if isinstance(batch, dict):
            for key, array in batch.items():
                array[lanes] = observation[key]
        else:
            batch[lanes] = observation
    except (ValueError, KeyError, TypeError) as error:
        raise HarnessError(f"the environment's observation does not fit its space: {error}") from None
