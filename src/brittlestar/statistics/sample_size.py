"""How many episodes a success rate or a mean needs."""

import math
from collections.abc import Callable, Sequence

import numpy as np

from brittlestar.errors import require
from brittlestar.statistics.arrays import Array, Values, special
from brittlestar.statistics.intervals import LEVEL, t_half_width, tail

Bounds = Callable[[Array, Array, float], Sequence[Values]]
"""A method of intervals: counts of successes and of episodes, and a level, to both bounds."""


def sample_size(rate: float, margin: float, level: float = LEVEL) -> int:
    """Episodes that estimate a rate within ±margin: `z^2 rate (1 - rate) / margin^2`, rounded up.

    The normal approximation gives too few near 0 and 1 (a single one at the ends).
    """
    require(0 <= rate <= 1, "rate", "between 0 and 1", rate)
    require(0.001 <= margin < 0.5, "margin", "at least 0.001 and below 0.5", margin)
    z = float(-special().ndtri(tail(level)))
    return max(1, math.ceil(z**2 * rate * (1 - rate) / margin**2))


def exact_sample_size(rate: float, margin: float, level: float = LEVEL) -> int:
    """Smallest n whose Clopper-Pearson interval has an expected half width of at most `margin`.

    Example:
        >>> exact_sample_size(0.8, margin=0.05)
        263
    """
    low, high = 0, sample_size(rate, margin, level)
    while expected_half_width(high, rate, level) > margin:
        low, high = high, high + math.ceil(1 / margin)
    while high - low > 1:
        middle = (low + high) // 2
        too_wide = expected_half_width(middle, rate, level) > margin
        low, high = (middle, high) if too_wide else (low, middle)
    return high


def t_sample_size(half_width: float, n: int, margin: float) -> int:
    """Units (seeds or episodes) whose t interval is within ±margin, if that of `n` units has this half width.

    Example:
        >>> t_sample_size(0.1, n=100, margin=0.05)
        393
    """
    require(n >= 2, "n", "at least 2", n)
    require(margin > 0, "margin", "above 0", margin)
    std = half_width / float(t_half_width(1.0, n))
    low, high = 1, 2
    while float(t_half_width(std, high)) > margin:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if float(t_half_width(std, middle)) > margin else (low, middle)
    return high


def expected_half_width(n: int, rate: float, level: float = LEVEL, interval: Bounds | None = None) -> float:
    """Half width of an interval (Clopper-Pearson), expected over successes ~ Binomial(n, rate); it falls with n."""
    k, mass = _binomial(n, rate)
    low, high = (interval or clopper_pearson)(k, np.full_like(k, n), level)
    return float(mass @ (np.asarray(high) - low) / 2)


def decisive_sample_size(rate: float, bound: float, chance: float = 0.8) -> int:
    """About the smallest n whose Clopper-Pearson interval lies on one side of a bound with this chance.

    Example:
        >>> decisive_sample_size(0.9, bound=0.8)
        113
    """
    require(abs(rate - bound) >= 0.001, "bound", "at least 0.001 from the rate", bound)
    low, high = 0, 2
    while not _decides(high, rate, bound, chance):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _decides(middle, rate, bound, chance) else (middle, high)
    return high


def _decides(n: int, rate: float, bound: float, chance: float) -> bool:
    k, mass = _binomial(n, rate)
    low, high = clopper_pearson(k, np.full_like(k, n))
    return float(mass @ (low >= bound if rate > bound else high <= bound)) >= chance


def _binomial(n: int, rate: float) -> tuple[Array, Array]:
    """Counts of successes that are not all but impossible, and their probabilities."""
    scipy, reach = special(), 8 * math.sqrt(n * rate * (1 - rate)) + 20
    k = np.arange(max(0, math.floor(n * rate - reach)), min(n, math.ceil(n * rate + reach)) + 1.0)
    log_choose = scipy.gammaln(n + 1) - scipy.gammaln(k + 1) - scipy.gammaln(n - k + 1)
    mass = np.exp(log_choose + scipy.xlogy(k, rate) + scipy.xlog1py(n - k, -rate))
    return k, mass / mass.sum()


def clopper_pearson(k: Array, n: Array, level: float = LEVEL) -> tuple[Array, Array]:
    """Bounds of the exact interval for `k` successes of `n`, which never covers less than `level`."""
    quantile, share = special().betaincinv, tail(level)
    low = np.where(k == 0, 0.0, quantile(np.maximum(k, 1), n - k + 1, share))
    return low, np.where(k == n, 1.0, quantile(k + 1, np.maximum(n - k, 1), 1 - share))
