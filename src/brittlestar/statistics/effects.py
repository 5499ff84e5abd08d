"""The effect of stress: the same episodes with and without it, clustered by seed."""

import math
from dataclasses import dataclass, replace

import numpy as np

from brittlestar.errors import require
from brittlestar.statistics.arrays import Array
from brittlestar.statistics.hypothesis_tests import HypothesisTest, mcnemar_exact, t_test
from brittlestar.statistics.intervals import LEVEL, Interval, normal_quantile, t_interval
from brittlestar.statistics.resampling import paired_bootstrap


@dataclass(frozen=True)
class Effect:
    """The mean over episodes with stress minus the mean over the same episodes without, with interval and p value."""

    stressed: float
    """Mean with stress; for events, the collapse rate."""
    clean: float
    """Mean without stress; for events, the false-alarm rate."""
    difference: float
    low: float
    high: float
    p_value: float
    method: str


def event_effect(stressed: np.ndarray, clean: np.ndarray) -> Effect:
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
    gap, total = only_a - only_b, n + 2.0
    error = math.sqrt(only_a + only_b + 1.0 - gap**2 / total) / total
    reach = normal_quantile(LEVEL) * error
    interval = Interval(gap / total - reach, gap / total + reach)
    effect = _over_seeds(a, b, interval, mcnemar_exact(only_a, only_b))
    return replace(effect, low=max(-1.0, effect.low), high=min(1.0, effect.high))


def paired_effect(stressed: np.ndarray, clean: np.ndarray, rng: np.random.Generator) -> Effect:
    """Returns the mean difference of scores, returns or channels `(seeds, episodes)`; see `event_effect`."""
    a, b = _pairs(stressed, clean)
    return _over_seeds(a, b, *paired_bootstrap(a.ravel(), b.ravel(), rng))


def _over_seeds(a: Array, b: Array, over_episodes: Interval, test: HypothesisTest) -> Effect:
    gaps = (a - b).mean(axis=1)
    low, high = map(float, over_episodes)
    p_value, method = test
    if len(gaps) > 1:
        seed_low, seed_high = map(float, t_interval(gaps))
        low, high = min(low, seed_low), max(high, seed_high)
        p_value, method = max(p_value, t_test(gaps)), f"{method} and Student t over {len(gaps)} seeds"
    return Effect(float(a.mean()), float(b.mean()), float(gaps.mean()), low, high, p_value, method)


def _pairs(stressed: np.ndarray, clean: np.ndarray) -> tuple[Array, Array]:
    a, b = (np.atleast_2d(np.asarray(values, dtype=np.float64)) for values in (stressed, clean))
    require(a.shape == b.shape and a.size, "clean", f"the same episodes as with stress, {a.shape}", b.shape)
    return a, b
