"""What stress does beyond chance: the same episodes with and without it, clustered by seed."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from brittlestar.errors import require
from brittlestar.statistics import stats


@dataclass(frozen=True)
class Effect:
    """A mean over episodes with stress minus the mean over the same episodes without.

    Attributes:
        stressed: mean with stress, for events the collapse rate.
        clean: mean without, for events the false-alarm rate.
        difference: the effect.
        low: lower bound of its interval.
        high: upper bound.
        p_value: two-sided, of no effect.
        method: what interval and p value stand on.
    """

    stressed: float
    clean: float
    difference: float
    low: float
    high: float
    p_value: float
    method: str


def event_effect(stressed: np.ndarray, clean: np.ndarray, level: float = 0.95) -> Effect:
    """Returns the collapse rate minus the false-alarm rate, of events `(seeds, episodes)`.

    The interval spans that of the episodes (Agresti and Min's, for paired rates) and, with two seeds or more, that of
    the seeds (Student's t): seeds that agree by chance cannot narrow it. So p is the larger one of both tests.

    Example:
        >>> effect = event_effect(np.ones((2, 20), dtype=bool), np.zeros((2, 20), dtype=bool))
        >>> effect.difference, round(effect.low, 2), effect.p_value < 1e-6
        (1.0, 0.87, True)
    """
    a, b = _pairs(stressed, clean)
    only_a, only_b, n = int((a > b).sum()), int((a < b).sum()), a.size
    # One half more in each of the four cells.
    more, total = only_a - only_b, n + 2.0
    error = math.sqrt(only_a + only_b + 1.0 - more**2 / total) / total
    reach = float(_normal_quantile((1 + level) / 2)) * error
    bounds = (more / total - reach, more / total + reach)
    test = stats.mcnemar_exact(only_a, only_b)
    effect = _over_seeds(a, b, bounds, test.p_value, test.method, level)
    return Effect(**(vars(effect) | {"low": max(-1.0, effect.low), "high": min(1.0, effect.high)}))


def paired_effect(stressed: np.ndarray, clean: np.ndarray, rng: np.random.Generator, level: float = 0.95) -> Effect:
    """Returns the mean difference of scores, returns or channels `(seeds, episodes)`; see `event_effect`."""
    a, b = _pairs(stressed, clean)
    interval, test = stats.paired_bootstrap(a.ravel(), b.ravel(), rng, level=level)
    return _over_seeds(a, b, (float(interval.low), float(interval.high)), test.p_value, test.method, level)


def _over_seeds(
    a: np.ndarray, b: np.ndarray, bounds: tuple[float, float], p_value: float, method: str, level: float
) -> Effect:
    gaps = (a - b).mean(axis=1)
    low, high = bounds
    if len(gaps) > 1:
        interval = stats.t_interval(gaps, level)
        low, high = min(low, float(interval.low)), max(high, float(interval.high))
        p_value, method = max(p_value, _t_test(gaps)), f"{method} and Student t over {len(gaps)} seeds"
    return Effect(float(a.mean()), float(b.mean()), float(gaps.mean()), low, high, p_value, method)


def _t_test(gaps: np.ndarray) -> float:
    from scipy.special import stdtr

    error = gaps.std(ddof=1) / math.sqrt(len(gaps))
    if error == 0:
        return 0.0 if gaps.any() else 1.0
    return float(2 * stdtr(len(gaps) - 1, -abs(gaps.mean()) / error))


def _pairs(stressed: np.ndarray, clean: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    a, b = (np.atleast_2d(np.asarray(values, dtype=np.float64)) for values in (stressed, clean))
    require(a.shape == b.shape and a.size, "clean", f"the same episodes as with stress, {a.shape}", b.shape)
    return a, b


def _normal_quantile(share: float) -> float:
    from statistics import NormalDist

    return NormalDist().inv_cdf(share)
