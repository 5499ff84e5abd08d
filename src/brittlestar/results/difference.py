"""The difference of two curves: A minus B, paired where they share their episodes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypedDict

import numpy as np

from brittlestar.randomness import generator
from brittlestar.results.ranges import Range, cut, difference_range
from brittlestar.statistics import hypothesis_tests as tests
from brittlestar.statistics.curves import normalised_auc
from brittlestar.statistics.intervals import percentile_interval, welch_half_width
from brittlestar.statistics.resampling import (
    RESAMPLES,
    bootstrap_means,
    paired_bootstrap,
    plus_four,
    recentre,
    shared_bootstrap_means,
)

EXACT_EPISODES = 300
"""Boschloo's test takes minutes for more episodes per side, where the z-test agrees with it."""


class Difference(TypedDict):
    """A minus B with its interval: numbers, or None where a side has no values."""

    a: Any
    b: Any
    difference: Any
    low: Any
    high: Any
    method: str


class LevelDifference(Difference):
    """A minus B at one strength, with episodes per side and p values; `p_holm` is adjusted over all strengths."""

    strength: float
    n_a: int
    n_b: int
    p: Any
    p_holm: Any


@dataclass
class Sides:
    """A measure of A and B, `(strengths, seeds, episodes)` each; `paired` if they share their episodes."""

    strengths: list[float]
    a: np.ndarray
    b: np.ndarray
    paired: bool
    span: Range
    """Range of the measure."""

    def at(self, indices: list[int]) -> Sides:
        """Returns some of the strengths."""
        return Sides([self.strengths[i] for i in indices], self.a[indices], self.b[indices], self.paired, self.span)

    @property
    def samples(self) -> list[np.ndarray]:
        """The independent samples: the differences of pairs, or both sides."""
        return [self.a - self.b] if self.paired else [self.a, self.b]

    def area(self, means: np.ndarray) -> np.ndarray:
        """Returns the normalised area under means `(..., strengths)`; the mean itself at a single strength."""
        return np.asarray(normalised_auc(self.strengths, means) if len(self.strengths) > 1 else means[..., 0])


def level_difference(sides: Sides) -> LevelDifference:
    """Returns the difference at a single strength, and its test."""
    n_a, n_b = int(np.isfinite(sides.a).sum()), int(np.isfinite(sides.b).sum())
    row: LevelDifference = {
        "strength": sides.strengths[0], "n_a": n_a, "n_b": n_b, "a": None, "b": None, "difference": None,
        "low": None, "high": None, "p": None, "p_holm": None, "method": "no values",
    }  # fmt: skip
    if n_a and n_b:
        test = _test(sides)
        row.update(curve_difference(sides))
        row["p"], row["method"] = test.p_value, f"{test.method}; {row['method']}"
    return row


def is_decided(row: Mapping[str, Any]) -> bool:
    """Whether a difference at a strength is shown: its interval is apart from 0, and its test holds over all strengths.

    The test treats episodes as independent; the interval accounts for differences between seeds.
    """
    apart = row["low"] is not None and not row["low"] <= 0 <= row["high"]
    return bool(apart and row["p_holm"] is not None and row["p_holm"] < tests.SIGNIFICANCE)


def curve_difference(sides: Sides) -> Difference:
    """Returns the difference of areas, with the t interval over seeds, but at least the bootstrap one over episodes.

    A bootstrap over few seeds is too narrow, and seeds may agree by chance.
    """
    a, b = (sides.area(np.nanmean(side, axis=(1, 2))) for side in (sides.a, sides.b))
    over_episodes = percentile_interval(_episode_draws(sides))
    centre, half = seed_interval(sides)
    kind = "paired" if sides.paired else "unpaired"
    counts = " + ".join(str(np.isfinite(sample[0]).sum()) for sample in sides.samples)
    episodes = f"{counts} episode{'s' * (counts != '1')}"
    method = f"{kind} {'plus-four ' * sides.span.is_event}bootstrap over {episodes}, {RESAMPLES} draws, 95 %"
    if math.isnan(half):
        method += ", 1 seed"
    else:
        seeds = " + ".join(str(sample.shape[1]) for sample in sides.samples)
        method = f"{kind} t over {seeds} seeds, at least {method}"
    bounds = np.fmin(over_episodes.low, centre - half), np.fmax(over_episodes.high, centre + half)
    low, high = cut(difference_range(sides.span), a - b, *bounds)
    return {
        "a": float(a), "b": float(b), "difference": float(a - b), "low": float(low), "high": float(high),
        "method": method,
    }  # fmt: skip


def curve_test(sides: Sides) -> tests.HypothesisTest:
    """Tests the difference of areas by Student's t over episodes, whose p value can be as small as many tests need."""
    areas = [sides.area(np.moveaxis(sample, 0, -1)).ravel() for sample in sides.samples]
    return tests.t_test(*(values[np.isfinite(values)] for values in areas))


def _test(sides: Sides) -> tests.HypothesisTest:
    a, b = sides.a, sides.b
    if sides.span.is_event and sides.paired:
        return tests.mcnemar_exact(int(((a == 1) & (b == 0)).sum()), int(((a == 0) & (b == 1)).sum()))
    n_a, n_b = int(np.isfinite(a).sum()), int(np.isfinite(b).sum())
    if sides.span.is_event:
        test = tests.boschloo if max(n_a, n_b) <= EXACT_EPISODES else tests.two_proportion_z
        return test(int(np.nansum(a)), n_a, int(np.nansum(b)), n_b)
    if sides.paired:
        return paired_bootstrap(a.ravel(), b.ravel(), "compare")[1]
    return tests.bootstrap_test(_episode_draws(sides), "unpaired bootstrap")


def _episode_draws(sides: Sides) -> np.ndarray:
    rng, areas = generator(0, "compare"), []
    for sample in sides.samples:
        pooled = sample.reshape(len(sample), -1)
        if sides.span.is_event:
            # The pseudo-episodes count for A and B alike.
            pooled = plus_four(pooled, [1, 1, -1, -1] if sides.paired else [1, 0])
        # All pairs share their draws, so comparing many curves draws once.
        means = shared_bootstrap_means(pooled, "compare") if sides.paired else bootstrap_means(pooled, rng)
        areas.append(sides.area(recentre(means, pooled, np.nanmean(sample, axis=(1, 2)))))
    return areas[0] if sides.paired else areas[0] - areas[1]


def seed_interval(sides: Sides) -> tuple[float, float]:
    """Centre and half width of the t interval over seeds (Welch's, if unpaired); nan for a single seed."""
    with np.errstate(invalid="ignore"):
        areas = [sides.area((np.nansum(x, axis=2) / np.isfinite(x).sum(axis=2)).T) for x in sides.samples]
    seeds = [values[np.isfinite(values)] for values in areas]
    if min(map(len, seeds)) < 2:
        return math.nan, math.nan
    half = welch_half_width([values.var(ddof=1) for values in seeds], [len(values) for values in seeds])
    return float(seeds[0].mean() - (0 if sides.paired else seeds[1].mean())), half
