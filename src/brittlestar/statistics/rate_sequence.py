"""The anytime-valid interval of one success rate: a confidence sequence by a Beta mixture."""

import numpy as np
from numpy.typing import ArrayLike

from brittlestar.errors import require
from brittlestar.statistics.arrays import Array, as_number, special
from brittlestar.statistics.intervals import Interval, check_counts

PRIOR = 0.5
_HALVINGS = 40


def rate_sequence(successes: ArrayLike, n: ArrayLike, alpha: float = 0.05) -> Interval:
    """Interval of a success rate that holds at every look together, with 1 - alpha; counts may be arrays.

    It keeps every rate `p` with `B(a + k, a + n - k) / (B(a, a) p^k (1 - p)^(n - k)) < 1 / alpha`, where a = 1/2.

    Example:
        >>> np.round(rate_sequence(8, 10), 3).tolist()
        [0.342, 0.991]
    """
    require(0 < alpha < 1, "alpha", "above 0 and below 1", alpha)
    k, total = check_counts(successes, n)
    low, high = _bound(k, total, alpha), 1 - _bound(total - k, total, alpha)
    return Interval(as_number(low), as_number(high))


def _bound(k: Array, n: Array, alpha: float) -> Array:
    """Returns the low end, between 0 and the observed rate, where the likelihood rises."""
    scipy = special()
    least = scipy.betaln(PRIOR + k, PRIOR + n - k) - scipy.betaln(PRIOR, PRIOR) + np.log(alpha)
    outside, inside = np.zeros_like(n), k / n
    for _ in range(_HALVINGS):
        rate = (outside + inside) / 2
        is_kept = scipy.xlogy(k, rate) + scipy.xlog1py(n - k, -rate) > least
        outside, inside = np.where(is_kept, outside, rate), np.where(is_kept, rate, inside)
    return outside
