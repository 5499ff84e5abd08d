"""The effect of stress: the same episodes with and without it, clustered by seed."""

import math
from dataclasses import dataclass

import numpy as np

from brittlestar.errors import require
from brittlestar.statistics.arrays import Array, special
from brittlestar.statistics.hypothesis_tests import HypothesisTest, mcnemar_exact, sign_flip_test
from brittlestar.statistics.intervals import LEVEL, tail


@dataclass(frozen=True)
class Effect:
    """The mean over episodes with stress minus the mean over the same episodes without, with interval and p value.

    The interval excludes 0 exactly if `p_value` is below 1 minus its level.
    """

    difference: float
    low: float
    high: float
    p_value: float
    method: str


def event_effect(stressed: np.ndarray, clean: np.ndarray, level: float = LEVEL) -> Effect:
    """Returns the collapse rate minus the false-alarm rate, of events `(seeds, episodes)`.

    Two tests must agree. The exact McNemar test permutes within seeds: its false-alarm rate holds however seeds
    differ. A t test adds the variance between seeds to that of the episodes (Agresti and Min's, for paired
    rates): an effect that only some seeds show is not decided. Both have power with two seeds.

    Example:
        >>> effect = event_effect(np.ones((2, 20), dtype=bool), np.zeros((2, 20), dtype=bool))
        >>> effect.difference, round(effect.low, 2), effect.p_value < 1e-6
        (1.0, 0.87, True)
    """
    a, b = _pairs(stressed, clean)
    only_a, only_b = int((a > b).sum()), int((a < b).sum())
    # One half more in each of the four cells.
    excess, total = only_a - only_b, a.size + 2.0
    variance = (only_a + only_b + 1.0 - excess**2 / total) / total**2
    effect = _effect(a - b, excess / total, variance, mcnemar_exact(only_a, only_b), level)
    return Effect(effect.difference, max(-1.0, effect.low), min(1.0, effect.high), effect.p_value, effect.method)


def paired_effect(stressed: np.ndarray, clean: np.ndarray, rng: np.random.Generator, level: float = LEVEL) -> Effect:
    """Returns the mean difference of scores, returns or channels `(seeds, episodes)`; see `event_effect`.

    Here the test within seeds flips the signs of the differences.
    """
    a, b = _pairs(stressed, clean)
    gaps = a - b
    return _effect(gaps, float(gaps.mean()), _episode_variance(gaps), sign_flip_test(gaps.ravel(), rng), level)


def _effect(gaps: Array, centre: float, variance: float, within: HypothesisTest, level: float) -> Effect:
    """Returns the effect of gaps `(seeds, episodes)`, from the mean over episodes and its variance."""
    error, freedom = math.sqrt(variance + _seed_variance(gaps)), max(1, gaps.size - len(gaps))
    p_value = within.p_value
    if error > 0:
        p_value = max(p_value, 2 * float(special().stdtr(freedom, -abs(centre) / error)))
    reach = -float(special().stdtrit(freedom, tail(level))) * error
    low, high = centre - reach, centre + reach
    if p_value >= 1 - level:
        low, high = min(low, 0.0), max(high, 0.0)
    return Effect(float(gaps.mean()), low, high, p_value, f"{within.method} and t over episodes and seeds")


def _episode_variance(gaps: Array) -> float:
    """Returns the variance of the mean that comes from the episodes of each seed."""
    seeds, episodes = gaps.shape
    return float(gaps.var(axis=1, ddof=1).mean() / (seeds * episodes)) if episodes > 1 else 0.0


def _seed_variance(gaps: Array) -> float:
    """Returns the variance of the mean that comes from seeds, beyond that of their episodes."""
    if len(gaps) < 2:
        return 0.0
    return max(0.0, float(gaps.mean(axis=1).var(ddof=1) / len(gaps)) - _episode_variance(gaps))


def _pairs(stressed: np.ndarray, clean: np.ndarray) -> tuple[Array, Array]:
    a, b = (np.atleast_2d(np.asarray(values, dtype=np.float64)) for values in (stressed, clean))
    require(a.shape == b.shape and a.size, "clean", f"the same episodes as with stress, {a.shape}", b.shape)
    return a, b
