"""Intervals, tests and sample sizes: arrays in, numbers out."""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from brittlestar.errors import require

Array = NDArray[np.float64]
Values = float | Array

_DRAWS_PER_BLOCK = 2**15  # stays in the processor's cache; another value gives other draws


@dataclass(frozen=True)
class Interval:
    """An interval, with the method, sample size and confidence level it stands on."""

    low: Values
    high: Values
    method: str
    n: int | NDArray[np.int64]
    level: float


@dataclass(frozen=True)
class Test:
    """A two-sided test, with the method and sample size it stands on."""

    __test__ = False  # the name would make pytest collect it

    statistic: float
    p_value: float
    method: str
    n: int


@dataclass(frozen=True)
class Comparison:
    """Two success rates over `n` episodes each; `difference` is a minus b."""

    name_a: str
    name_b: str
    difference: float
    z: float
    significant: bool
    n: int


def wilson(successes: ArrayLike, n: ArrayLike, level: float = 0.95) -> Interval:
    """Wilson score interval of a success rate; counts may be arrays.

    It covers the true rate with `level` on average over rates, and less often near 0 and 1.

    Example:
        >>> interval = wilson(8, 10)
        >>> round(interval.low, 3), round(interval.high, 3)
        (0.49, 0.943)
    """
    k, total = _counts(successes, n)
    z = -_special().ndtri(_tail(level))
    centre = (k + z**2 / 2) / (total + z**2)
    half = z / (total + z**2) * np.sqrt(k * (total - k) / total + z**2 / 4)
    # Rounding must not push the bound off 0 or 1.
    low, high = np.where(k == 0, 0.0, centre - half), np.where(k == total, 1.0, centre + half)
    return Interval(plain(low), plain(high), "Wilson", _whole(total), level)


def clopper_pearson(successes: ArrayLike, n: ArrayLike, level: float = 0.95) -> Interval:
    """Exact interval of a success rate, which never covers less than `level`; counts may be arrays.

    Example:
        >>> interval = clopper_pearson(8, 10)
        >>> round(interval.low, 3), round(interval.high, 3)
        (0.444, 0.975)
    """
    k, total = _counts(successes, n)
    low, high = _exact_bounds(k, total, _tail(level))
    return Interval(plain(low), plain(high), "Clopper-Pearson", _whole(total), level)


def t_interval(values: ArrayLike, level: float = 0.95) -> Interval:
    """Student t interval of the mean of seed means, with n - 1 degrees of freedom; nan is left out.

    One seed says nothing about how seeds differ, so its bounds are nan rather than a zero-width
    interval. Seeds that all agree (say, at 100 %) do give zero width: use `wilson` over episodes there.

    Example:
        >>> interval = t_interval([0.7, 0.8, 0.9])
        >>> round(interval.low, 3), round(interval.high, 3)
        (0.552, 1.048)
        >>> t_interval([0.8]).low
        nan
    """
    known = _known(values)
    if known.size < 2:
        return Interval(math.nan, math.nan, "Student t", known.size, level)
    half = float(t_half_width(known.std(ddof=1), known.size, level))
    return Interval(float(known.mean() - half), float(known.mean() + half), "Student t", known.size, level)


def t_half_width(std: ArrayLike, n: ArrayLike, level: float = 0.95) -> Array:
    """Half widths of Student t intervals from standard deviations and counts; nan where `n` is below 2.

    Example:
        >>> t_half_width([0.1, 0.1], [3, 1]).round(3)
        array([0.248,   nan])
    """
    spread, count = np.asarray(std, dtype=np.float64), np.asarray(n, dtype=np.float64)
    many = count > 1
    quantile = -_special().stdtrit(np.where(many, count - 1, 1), _tail(level))
    return np.where(many, quantile * spread / np.sqrt(np.maximum(count, 1)), np.nan)


def bootstrap_weights(n: int, resamples: int, rng: np.random.Generator) -> Array:
    """How often each of `n` items is drawn, shape (resamples, n); every row sums to `n`.

    Example:
        >>> bootstrap_weights(3, 2, np.random.default_rng(0)).sum(axis=1)
        array([3., 3.])
    """
    require(n >= 1, "n", "at least 1", n)
    return np.concatenate(list(_weight_blocks(1, n, resamples, rng)))


def bootstrap_mean(values: ArrayLike, rng: np.random.Generator, resamples: int = 2000, level: float = 0.95) -> Interval:
    """Percentile bootstrap interval of the mean of independent `values`; nan is left out."""
    table = np.asarray(values, dtype=np.float64).reshape(1, -1)
    means = cluster_resample_means(table, rng, resamples)
    return percentile_interval(means, "bootstrap", _known(table).size, level)


def cluster_bootstrap(
    values_by_seed: Sequence[ArrayLike], rng: np.random.Generator, resamples: int = 2000, level: float = 0.95
) -> Interval:
    """Percentile interval of the mean: draws seeds, then episodes inside each drawn seed.

    `n` is the number of seeds. When seeds differ much, a 95 % interval covers 77 % with 3 seeds and
    94 % with 30; `t_interval` over seed means holds its level with few. One seed gives the plain
    bootstrap over its episodes, named so.

    Args:
        values_by_seed: one array of episodes per seed; shorter ones are filled up with nan.
        rng: source of the draws.
        resamples: number of bootstrap replicates.
        level: confidence level.
    """
    seeds = [np.asarray(values, dtype=np.float64).ravel() for values in values_by_seed]
    require(len(seeds) >= 1, "values_by_seed", "at least 1 seed", len(seeds))
    if len(seeds) == 1:
        return bootstrap_mean(seeds[0], rng, resamples, level)
    table = np.full((len(seeds), max(values.size for values in seeds)), np.nan)
    for row, values in zip(table, seeds, strict=True):
        row[: values.size] = values
    means = cluster_resample_means(table, rng, resamples)
    return percentile_interval(means, "cluster bootstrap", len(seeds), level)


def cluster_resample_means(values: ArrayLike, rng: np.random.Generator, resamples: int = 2000) -> Array:
    """Bootstrap means of values of shape (..., seeds, episodes), as (resamples, ...).

    Leading indices (levels, policies) are paired: one replicate draws the same seeds and episodes for
    all of them. nan is a missing value: the mean is over the others, and nan when there are none.
    """
    table = np.asarray(values, dtype=np.float64)
    require(table.ndim >= 2 and table.size, "values", "of shape (..., seeds, episodes)", table.shape)
    flat = table.reshape(-1, table.shape[-2] * table.shape[-1]).T
    known = ~np.isnan(flat)
    filled, present = np.where(known, flat, 0.0), known.astype(np.float64)
    means = []
    for weights in _weight_blocks(table.shape[-2], table.shape[-1], resamples, rng):
        mass = float(len(flat)) if known.all() else weights @ present
        with np.errstate(invalid="ignore"):
            means.append(weights @ filled / mass)
    return np.concatenate(means).reshape(resamples, *table.shape[:-2])


def percentile_interval(replicates: ArrayLike, method: str, n: int, level: float = 0.95) -> Interval:
    """Cuts (1 - level) / 2 off both ends of replicates of shape (resamples, ...).

    Bounds are replicates, never interpolated, so infinite ones are fine; nan is left out.

    Example:
        >>> percentile_interval(np.arange(100), "bootstrap", n=5, level=0.9).low
        5.0
    """
    ordered = np.sort(np.asarray(replicates, dtype=np.float64), axis=0)  # nan goes last
    require(ordered.size, "replicates", "at least 1 number", ordered.size)
    known = np.sum(~np.isnan(ordered), axis=0, keepdims=True)
    cut = np.floor(_tail(level) * known + 1e-9).astype(np.int64)
    low, high = (np.take_along_axis(ordered, index, axis=0)[0] for index in (cut, known - 1 - cut))
    return Interval(plain(low), plain(high), method, n, level)


def two_proportion_z(successes_a: int, n_a: int, successes_b: int, n_b: int) -> Test:
    """Two-proportion z-test with pooled variance; z is positive when a succeeds more often.

    Example:
        >>> round(two_proportion_z(80, 100, 65, 100).p_value, 4)
        0.0175
    """
    _counts(successes_a, n_a, "_a")
    _counts(successes_b, n_b, "_b")
    z = _pooled_z(successes_a / n_a, n_a, successes_b / n_b, n_b)
    return Test(z, float(2 * _special().ndtr(-abs(z))), "two-proportion z", n_a + n_b)


def compare_rates(rate_a: float, rate_b: float, n: int, name_a: str = "A", name_b: str = "B") -> Comparison:
    """Compares two success rates over `n` episodes each; significant when the pooled |z| > 1.96.

    Example:
        >>> compare_rates(0.80, 0.65, n=100).significant
        True
    """
    require(0 <= rate_a <= 1, "rate_a", "between 0 and 1", rate_a)
    require(0 <= rate_b <= 1, "rate_b", "between 0 and 1", rate_b)
    require(n >= 1, "n", "at least 1", n)
    z = _pooled_z(rate_a, n, rate_b, n)
    return Comparison(name_a, name_b, float(rate_a - rate_b), z, abs(z) > 1.96, n)


def boschloo(successes_a: int, n_a: int, successes_b: int, n_b: int) -> Test:
    """Boschloo's exact test of two independent success rates; the statistic is Fisher's p value.

    Example:
        >>> round(boschloo(7, 10, 1, 10).p_value, 4)
        0.008
    """
    _counts(successes_a, n_a, "_a")
    _counts(successes_b, n_b, "_b")
    if successes_a + successes_b in (0, n_a + n_b):  # nothing tells them apart, and scipy says nan
        return Test(1.0, 1.0, "Boschloo", n_a + n_b)
    table = [[successes_a, successes_b], [n_a - successes_a, n_b - successes_b]]
    found = importlib.import_module("scipy.stats").boschloo_exact(table)
    return Test(float(found.statistic), min(1.0, float(found.pvalue)), "Boschloo", n_a + n_b)


def mcnemar_exact(only_a: int, only_b: int) -> Test:
    """Exact McNemar test of two policies on the same episodes, from those that only one of them solves.

    The statistic is `only_a - only_b`; p is two-sided binomial, and 1 when no episode tells them apart.

    Example:
        >>> mcnemar_exact(only_a=9, only_b=1).p_value
        0.021484375
    """
    require(only_a >= 0, "only_a", "at least 0", only_a)
    require(only_b >= 0, "only_b", "at least 0", only_b)
    n = only_a + only_b
    p = 2 * float(_special().bdtr(min(only_a, only_b), n, 0.5)) if n else 1.0
    return Test(float(only_a - only_b), min(1.0, p), "exact McNemar", n)


def paired_bootstrap(
    a: ArrayLike, b: ArrayLike, rng: np.random.Generator, resamples: int = 2000, level: float = 0.95
) -> tuple[Interval, Test]:
    """Bootstraps the mean of `a - b` over shared episodes; pairs with a nan are left out.

    p is twice the smaller share of replicates at or beyond 0 on either side, the observed sample
    counted among them: it agrees with the interval and is never 0.
    """
    first, second = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    require(first.shape == second.shape, "b", f"of the shape of `a`, {first.shape}", second.shape)
    gaps = _known(first - second)
    require(gaps.size, "a - b", "at least 1 number", gaps.size)
    means = cluster_resample_means(gaps[None], rng, resamples)
    tail = min(int(np.sum(means <= 0)), int(np.sum(means >= 0)))
    test = Test(float(gaps.mean()), min(1.0, 2 * (tail + 1) / (resamples + 1)), "paired bootstrap", gaps.size)
    return percentile_interval(means, "paired bootstrap", gaps.size, level), test


def holm(p_values: ArrayLike) -> Array:
    """Holm's adjusted p values: rejecting those below alpha keeps the family-wise error below it.

    nan stays nan and does not count as a comparison.

    Example:
        >>> holm([0.01, 0.04, 0.03])
        array([0.03, 0.06, 0.06])
    """
    p = np.array(p_values, dtype=np.float64)
    require(np.isnan(p) | ((p >= 0) & (p <= 1)), "p_values", "between 0 and 1", p)
    order = np.argsort(p, axis=None)[: np.sum(~np.isnan(p))]
    steps = p.flat[order] * np.arange(order.size, 0, -1)
    p.flat[order] = np.minimum(1.0, np.maximum.accumulate(steps))
    return p


def sample_size(rate: float, margin: float, level: float = 0.95) -> int:
    """Episodes to know a rate within ±margin: `z^2 rate (1 - rate) / margin^2`, rounded up.

    A normal approximation, so it asks for too few near 0 and 1 (a single one at the ends).

    Example:
        >>> sample_size(0.8, margin=0.05)
        246
    """
    require(0 <= rate <= 1, "rate", "between 0 and 1", rate)
    require(0.001 <= margin < 0.5, "margin", "at least 0.001 and below 0.5", margin)
    z = float(-_special().ndtri(_tail(level)))
    return max(1, math.ceil(z**2 * rate * (1 - rate) / margin**2))


def exact_sample_size(rate: float, margin: float, level: float = 0.95) -> int:
    """Smallest n whose Clopper-Pearson interval has an expected half width of at most `margin`.

    The expectation is over successes ~ Binomial(n, rate). It falls with n, so larger n do as well.

    Example:
        >>> exact_sample_size(0.8, margin=0.05)
        263
    """
    low, high = 0, sample_size(rate, margin, level)
    while _expected_half_width(high, rate, level) > margin:
        low, high = high, high + math.ceil(1 / margin)
    while high - low > 1:
        middle = (low + high) // 2
        too_wide = _expected_half_width(middle, rate, level) > margin
        low, high = (middle, high) if too_wide else (low, middle)
    return high


def _weight_blocks(seeds: int, episodes: int, resamples: int, rng: np.random.Generator) -> Iterator[Array]:
    # Counts and a matrix product are faster than gathering values.
    require(resamples >= 1, "resamples", "at least 1", resamples)
    size = seeds * episodes
    block = max(1, _DRAWS_PER_BLOCK // size)
    for start in range(0, resamples, block):
        rows = min(block, resamples - start)
        cell = rng.integers(episodes, size=(rows, seeds, episodes))
        cell += rng.integers(seeds, size=(rows, seeds, 1)) * episodes
        cell += np.arange(rows)[:, None, None] * size
        yield np.bincount(cell.ravel(), minlength=rows * size).reshape(rows, size).astype(np.float64)


def _exact_bounds(k: Array, n: Array, tail: float) -> tuple[Array, Array]:
    quantile = _special().betaincinv
    low = np.where(k == 0, 0.0, quantile(np.maximum(k, 1), n - k + 1, tail))
    return low, np.where(k == n, 1.0, quantile(k + 1, np.maximum(n - k, 1), 1 - tail))


def _expected_half_width(n: int, rate: float, level: float) -> float:
    special, reach = _special(), 8 * math.sqrt(n * rate * (1 - rate)) + 20
    k = np.arange(max(0, math.floor(n * rate - reach)), min(n, math.ceil(n * rate + reach)) + 1.0)
    log_choose = special.gammaln(n + 1) - special.gammaln(k + 1) - special.gammaln(n - k + 1)
    mass = np.exp(log_choose + special.xlogy(k, rate) + special.xlog1py(n - k, -rate))
    low, high = _exact_bounds(k, np.full_like(k, n), _tail(level))
    return float(mass @ (high - low) / mass.sum() / 2)


def _pooled_z(rate_a: float, n_a: int, rate_b: float, n_b: int) -> float:
    pooled = (rate_a * n_a + rate_b * n_b) / (n_a + n_b)
    error = math.sqrt(max(0.0, pooled * (1 - pooled)) * (1 / n_a + 1 / n_b))
    return float((rate_a - rate_b) / error) if error > 0 else 0.0


def _counts(successes: ArrayLike, n: ArrayLike, suffix: str = "") -> tuple[Array, Array]:
    k, total = np.broadcast_arrays(np.asarray(successes, dtype=np.float64), np.asarray(n, dtype=np.float64))
    require(total >= 1, f"n{suffix}", "at least 1", n)
    require((k >= 0) & (k <= total), f"successes{suffix}", f"between 0 and `n{suffix}`", successes)
    for name, value in (("successes", k), ("n", total)):
        require(value == np.round(value), f"{name}{suffix}", "a whole number", value)
    return k, total


def _tail(level: float) -> float:
    require(0 < level < 1, "level", "above 0 and below 1", level)
    return (1 - level) / 2


def _known(values: ArrayLike) -> Array:
    flat = np.asarray(values, dtype=np.float64).ravel()
    return flat[~np.isnan(flat)]


def plain(values: Any) -> Values:
    """Returns a number for a single value, else an array."""
    return float(values) if np.ndim(values) == 0 else np.asarray(values, dtype=np.float64)


def _whole(counts: Array) -> int | NDArray[np.int64]:
    return int(counts) if counts.ndim == 0 else counts.astype(np.int64)


def _special() -> Any:
    # Loaded on first use: it takes longer to import than numpy.
    return importlib.import_module("scipy.special")
