"""Random masks `(lanes, size)` of missing numbers; a larger ratio masks the same numbers and more."""

from collections.abc import Callable
from typing import Any

import numpy as np

from brittlestar.randomness import LaneDraws

_ROUNDING = 1e-9
"""Added before rounding down, so that 0.29 of 100 numbers are 29 although the product is slightly less."""

Ratio = float | np.ndarray


def whole(ratio: Ratio, size: int) -> Any:
    """Returns `ratio * size`, rounded down.

    Example:
        >>> [int(whole(ratio, 100)) for ratio in (0.29, 0.299)]
        [29, 29]
    """
    return np.floor(np.asarray(ratio) * size + _ROUNDING)


def channel_mask(draws: LaneDraws, size: int, ratio: Ratio) -> np.ndarray:
    """Masks exactly `floor(ratio * size)` random numbers.

    Example:
        >>> channel_mask(LaneDraws(0, "mask", lanes=2), size=4, ratio=0.5).sum(axis=1).tolist()
        [2, 2]
    """
    numbers, count = draws.uniform((size,)), whole(ratio, size)
    if count.ndim == 0 and count > 0:
        # With one count for all lanes, the count-th smallest draw is found faster than the order of all draws.
        last = int(count) - 1
        return np.asarray(numbers <= np.partition(numbers, last, axis=1)[:, last : last + 1])
    return _ranks(numbers) < count


def random_mask(draws: LaneDraws, size: int, ratio: Ratio) -> np.ndarray:
    """Masks each number with probability `ratio`."""
    return draws.uniform((size,)) < ratio


def block_mask(draws: LaneDraws, size: int, ratio: Ratio) -> np.ndarray:
    """Masks `floor(ratio * size)` neighbours.

    Example:
        >>> block_mask(LaneDraws(0, "mask", lanes=1), size=4, ratio=0.5).astype(int).tolist()
        [[0, 1, 1, 0]]
    """
    count = whole(ratio, size)
    start = np.floor(draws.uniform((1,)) * (size - count + 1))
    places = np.arange(size)
    return (places >= start) & (places < start + count)


def group_mask(draws: LaneDraws, members: np.ndarray, ratio: Ratio) -> np.ndarray:
    """Masks `floor(ratio * groups)` whole groups, at least one where the ratio is above 0.

    Args:
        draws: random numbers.
        members: `(groups, size)`, true where a number belongs to a group.
        ratio: share of the groups.
    """
    count = np.where(np.asarray(ratio) > 0, np.maximum(whole(ratio, len(members)), 1), 0)
    masked = _ranks(draws.uniform((len(members),))) < count
    return np.asarray((masked[:, :, None] & members).any(axis=1))


def _ranks(numbers: np.ndarray) -> np.ndarray:
    return numbers.argsort(axis=1).argsort(axis=1)


MASKS: dict[str, Callable[[LaneDraws, int, Ratio], np.ndarray]] = {
    "channel": channel_mask,
    "random": random_mask,
    "block": block_mask,
}
