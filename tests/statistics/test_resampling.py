"""Bootstrap means: their spread, and the coverage of their percentile intervals."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats as reference

from brittlestar.randomness import generator
from brittlestar.statistics import resampling
from brittlestar.statistics.arrays import moments
from brittlestar.statistics.hypothesis_tests import mcnemar_exact, two_proportion_z
from brittlestar.statistics.intervals import Interval, percentile_interval, t_interval, wilson
from brittlestar.statistics.resampling import (
    bootstrap_means,
    bootstrap_weights,
    cluster_means,
    paired_bootstrap,
    plus_four,
    recentre,
    shared_bootstrap_means,
    weighted_means,
)  # fmt: skip

NAN = float("nan")


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def covers(interval: Interval, truth: float) -> np.ndarray:
    return np.asarray((interval.low <= truth) & (truth <= interval.high))


def within_noise(share: float, nominal: float, sims: int) -> bool:
    """Four standard errors: one false alarm in 16,000 seeds."""
    return abs(share - nominal) < 4 * math.sqrt(nominal * (1 - nominal) / sims)


def test_weighted_means_worked_values():
    weights = np.array([[1.0, 1.0, 1.0], [0.0, 2.0, 1.0], [0.0, 0.0, 3.0]])
    means = weighted_means(np.array([1.0, 3.0, NAN]), weights)
    assert means == pytest.approx([2.0, 3.0, NAN], nan_ok=True)


def test_bootstrap_weights_are_multinomial_counts():
    weights = bootstrap_weights(50, 4000, rng())
    assert weights.shape == (4000, 50)
    assert np.all(weights.sum(axis=1) == 50)
    assert np.all(weights >= 0)
    np.testing.assert_allclose(weights.mean(axis=0), 1, atol=0.08)
    assert weights.var() == pytest.approx(1 - 1 / 50, abs=0.03)


def test_the_bootstrap_agrees_with_scipy():
    values = rng(1).exponential(size=60)
    interval = percentile_interval(bootstrap_means(values, rng(), 20_000))
    expected = reference.bootstrap((values,), np.mean, n_resamples=20_000, method="percentile", rng=rng(2))
    low, high = expected.confidence_interval
    assert (interval.low, interval.high) == pytest.approx((low, high), abs=0.015)


@pytest.mark.parametrize(
    # Percentile intervals of a mean fall short for few values: 90 % at 10, 93 % at 20.
    ("n", "low", "high"),
    [(10, 0.87, 0.93), (100, 0.93, 0.965)],
)
def test_bootstrap_coverage(n, low, high):
    means = bootstrap_means(rng(n).normal(size=(2000, n)), rng(), 1000)
    assert low < covers(percentile_interval(means), 0.0).mean() < high


@pytest.mark.parametrize(
    "resample", [lambda values: bootstrap_means(values, rng()), lambda v: cluster_means(v[..., None, :])]
)
def test_missing_values_are_left_out(resample):
    values = np.full((3, 30), 5.0)
    values[0, ::2] = NAN
    values[1] = NAN
    means = resample(values)
    assert np.all(means[:, [0, 2]] == 5.0)
    assert np.isnan(means[:, 1]).all()


@pytest.mark.parametrize(
    "resample", [lambda values: bootstrap_means(values, rng()), lambda v: cluster_means(v[..., None, :])]
)
def test_leading_axes_are_paired(resample):
    base = rng(1).random(60)
    means = resample(np.stack([[base, base + 0.25]] * 5))
    assert means.shape == (resampling.RESAMPLES, 5, 2)
    np.testing.assert_allclose(means[..., 1] - means[..., 0], 0.25)
    np.testing.assert_array_equal(means[:, 0], means[:, 4])
    assert means[:, 0, 0].std() > 0.01


def test_bootstrap_means_depend_on_the_generator_alone():
    values = rng(1).random((7, 300))
    first, again = (bootstrap_means(values, rng(5)) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, bootstrap_means(values, rng(6)))


def test_cluster_means_have_the_variance_of_two_stage_draws():
    values = rng(3).normal(size=(200, 4, 25)) + rng(4).normal(size=(200, 4, 1))
    means = cluster_means(values)
    between, inside = values.mean(axis=2).var(axis=1), values.var(axis=2).mean(axis=1)
    np.testing.assert_allclose(means.mean(axis=0), values.mean(axis=(1, 2)), atol=0.06)
    assert (means.var(axis=0) / ((between + inside / 25) / 4)).mean() == pytest.approx(1, rel=0.04)


def test_blocks_of_many_episodes_spread_the_mean_as_the_episodes_do(monkeypatch):
    values = (rng(1).random((50, 3, 300)) < 0.7).astype(float)
    one_by_one = cluster_means(values)
    monkeypatch.setattr(resampling, "_MOST_EPISODES", 100)
    blocks = cluster_means(values)
    assert not np.array_equal(one_by_one, blocks)
    assert (blocks.std(axis=0) / one_by_one.std(axis=0)).mean() == pytest.approx(1, abs=0.05)


@pytest.fixture(scope="module", params=[3, 10, 30])
def seed_study(request):
    """1,500 studies of seeds whose true rates are Beta(3.5, 1.5): mean 0.7, standard deviation 0.19."""
    random, size = rng(request.param), (1500, request.param)
    return (random.random((*size, 60)) < random.beta(3.5, 1.5, size=(*size, 1))).astype(float)


def test_the_cluster_bootstrap_covers_with_many_seeds_only(seed_study):
    # Nominal, within a point, from about 30 seeds.
    seeds = seed_study.shape[1]
    low, high = {3: (0.72, 0.82), 10: (0.885, 0.935), 30: (0.925, 0.965)}[seeds]
    interval = percentile_interval(cluster_means(seed_study))
    assert low < covers(interval, 0.7).mean() < high


def test_pooled_wilson_is_too_narrow_when_seeds_differ_and_t_is_not(seed_study):
    assert covers(wilson(seed_study.sum(axis=(1, 2)), seed_study[0].size), 0.7).mean() < 0.5
    t_hits = [bool(covers(t_interval(means), 0.7)) for means in seed_study.mean(axis=2)]
    assert 0.92 < np.mean(t_hits) < 0.965


def test_pseudo_episodes_spread_agreement_around_the_centre():
    values = np.ones((2, 10))
    pooled = plus_four(values, [1, 0])
    means = recentre(bootstrap_means(pooled, rng()), pooled, np.ones(2))
    assert means.std() > 0.05
    assert means.mean() == pytest.approx(1.0, abs=0.01)
    assert moments(pooled, axis=-1)[1] == pytest.approx(11 / 12)


def test_paired_tests_have_more_power_than_unpaired_ones():
    """Two policies with rates .80 and .65 on episodes whose difficulty they share."""
    sims, n, random = 300, 60, rng(7)
    rejections = np.zeros(3)
    for _ in range(sims):
        difficulty, own = random.random(n), random.normal(0, 0.05, size=(2, n))
        a, b = difficulty + own[0] < 0.80, difficulty + own[1] < 0.65
        z = two_proportion_z(int(a.sum()), n, int(b.sum()), n)
        mcnemar = mcnemar_exact(int((a & ~b).sum()), int((b & ~a).sum()))
        paired = paired_bootstrap(a, b, random, 400)[1]
        rejections += [test.p_value < 0.05 for test in (z, mcnemar, paired)]
    assert rejections[0] < 0.6 * sims
    assert min(rejections[1:]) > 0.8 * sims


def test_paired_bootstrap_coverage_and_false_positives():
    sims, n, random = 600, 100, rng(8)
    hits = positives = 0
    for _ in range(sims):
        shared = random.normal(0, 5, size=n)
        a, b = shared + random.normal(size=n), shared + random.normal(size=n)
        interval, test = paired_bootstrap(a, b, random, 400)
        hits += bool(covers(interval, 0.0))
        positives += test.p_value < 0.05
        assert test.p_value >= 0.05 or not covers(interval, 0.0)
        assert interval.high - interval.low < 1  # without pairing the width would be near 2.8
    assert within_noise(hits / sims, 0.945, sims)
    assert within_noise(positives / sims, 0.05, sims)


def test_paired_bootstrap_worked_values():
    interval, test = paired_bootstrap([3.0, 5.0, NAN], [1.0, 3.0, 9.0], rng(), resamples=99)
    assert (interval, test) == ((2.0, 2.0), (2 / 100, "paired bootstrap"))
    assert paired_bootstrap([1.0, 2.0], [1.0, 2.0], rng())[1].p_value == 1.0


BAD_CALLS = [
    (lambda: bootstrap_weights(0, 10, rng()), "`n` must be at least 1, got 0"),
    (lambda: bootstrap_means([1.0], rng(), resamples=0), "`resamples` must be at least 1, got 0"),
    (lambda: bootstrap_means([], rng()), "`values` must be of shape"),
    (lambda: paired_bootstrap([1.0], [1.0, 2.0], rng()), r"`b` must be of the shape of `a`, \(1,\), got \(2,\)"),
    (lambda: paired_bootstrap([NAN], [1.0], rng()), "`a - b` must be at least 1 number, got 0"),
]


@pytest.mark.parametrize(("call", "message"), BAD_CALLS, ids=[message for _, message in BAD_CALLS])
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_kept_draws_are_those_of_a_fresh_generator():
    values = rng().normal(size=(3, 50))
    fresh = bootstrap_means(values, generator(0, "compare"))
    for _ in range(2):
        assert np.array_equal(shared_bootstrap_means(values, "compare"), fresh)
    assert not np.array_equal(shared_bootstrap_means(values, "other"), fresh)
    named = paired_bootstrap(values[0], values[1], "compare")
    assert named == paired_bootstrap(values[0], values[1], generator(0, "compare"))
