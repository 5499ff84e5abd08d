"""How many pairs a test with a fixed number of them needs, to show a difference with a given chance."""

import math
from collections.abc import Callable

import numpy as np

from brittlestar.errors import require
from brittlestar.statistics.arrays import Array, special

POWER = 0.8
_MOST = 200_000


def mcnemar_power(n: int, only_a: float, only_b: float, alpha: float = 0.05) -> float:
    """Returns the chance that the exact McNemar test of `n` pairs is below alpha, in favour of A.

    `only_a` and `only_b` are the chances that only A, or only B, solves an episode. Decisions in favour of the wrong
    side do not count.

    Example:
        >>> round(mcnemar_power(50, only_a=0.3, only_b=0.1), 2)
        0.55
    """
    discordant = only_a + only_b
    require(0 < discordant <= 1 + 1e-9, "only_a + only_b", "above 0 and at most 1", discordant)
    scipy, counts = special(), np.arange(n + 1.0)
    log_choose = scipy.gammaln(n + 1) - scipy.gammaln(counts + 1) - scipy.gammaln(n - counts + 1)
    share = min(discordant, 1.0)
    mass = np.exp(log_choose + scipy.xlogy(counts, share) + scipy.xlog1py(n - counts, -share))
    losses = _most_losses(counts, alpha)
    chance = _at_most(np.maximum(losses, 0), counts, only_b / discordant)
    return float(mass @ np.where(losses >= 0, chance, 0.0))


def mcnemar_pairs(only_a: float, only_b: float, alpha: float = 0.05, power: float = POWER) -> float:
    """Returns about the smallest number of pairs of which the exact McNemar test has this power; inf for none.

    Example:
        >>> mcnemar_pairs(only_a=0.3, only_b=0.1)
        84.0
    """
    more, less = max(only_a, only_b), min(only_a, only_b)
    return _smallest(lambda n: mcnemar_power(n, more, less, alpha) >= power) if more > less else math.inf


def t_pairs(mean: float, std: float, alpha: float = 0.05, power: float = POWER) -> float:
    """Returns about how many pairs a t test of differences with this mean and standard deviation needs.

    Example:
        >>> t_pairs(mean=0.5, std=1.0)
        34.0
    """
    if mean == 0:
        return math.inf
    z = -float(special().ndtri(alpha / 2)) + float(special().ndtri(power))
    # Half the square of the quantile corrects for the unknown deviation.
    return float(max(2, math.ceil((z * std / mean) ** 2 + float(special().ndtri(alpha / 2)) ** 2 / 2)))


def _smallest(holds: Callable[[int], bool]) -> float:
    low, high = 0, 2
    while not holds(high):
        low, high = high, 2 * high
        if high > _MOST:
            return math.inf
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return float(high)


def _most_losses(n: Array, alpha: float) -> Array:
    """Returns the greatest number of losses whose two-sided p value is at most alpha; -1 for none."""
    losses = np.floor(n / 2 + special().ndtri(alpha / 2) * np.sqrt(n) / 2) + 2
    # The normal approximation is a few losses too high or too low.
    for _ in range(6):
        losses -= (losses >= 0) & (_at_most(np.maximum(losses, 0), n, 0.5) > alpha / 2)
    return losses


def _at_most(k: Array, n: Array, rate: float) -> Array:
    """Returns the chance of at most `k` of `n` events."""
    return np.where(k >= n, 1.0, special().betainc(np.maximum(n - k, 1e-9), k + 1, 1 - rate))
