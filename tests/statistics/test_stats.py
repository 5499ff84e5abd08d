"""Worked values, bad inputs, and simulations of what each method promises."""

from __future__ import annotations

import math
import subprocess
import sys
import time

import numpy as np
import pytest
from scipy import stats as reference

from brittlestar.statistics import curves, stats

NAN = float("nan")


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def covers(interval: stats.Interval, truth: float | np.ndarray) -> np.ndarray:
    return np.asarray((interval.low <= truth) & (truth <= interval.high))


def within_noise(share: float, nominal: float, sims: int) -> bool:
    """Four standard errors: one false alarm in 16,000 seeds."""
    return abs(share - nominal) < 4 * math.sqrt(nominal * (1 - nominal) / sims)


# --- intervals of a rate ---


@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
@pytest.mark.parametrize(("successes", "n"), [(0, 1), (0, 10), (1, 10), (8, 10), (10, 10), (37, 200)])
@pytest.mark.parametrize(
    ("ours", "name"), [(stats.wilson, "wilson"), (stats.clopper_pearson, "exact")], ids=["wilson", "exact"]
)
def test_rate_intervals_agree_with_scipy(ours, name, successes, n, level):
    theirs = reference.binomtest(successes, n).proportion_ci(level, method=name)
    found = ours(successes, n, level)
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), abs=1e-12)
    assert (found.n, found.level) == (n, level)


@pytest.mark.parametrize("method", [stats.wilson, stats.clopper_pearson])
def test_rate_intervals_take_arrays(method):
    many = method([0, 8, 10], [10, 10, 20])
    alone = [method(0, 10), method(8, 10), method(10, 20)]
    np.testing.assert_allclose(many.low, [one.low for one in alone])
    np.testing.assert_allclose(many.high, [one.high for one in alone])
    np.testing.assert_array_equal(many.n, [10, 10, 20])


@pytest.mark.parametrize("n", [1, 7, 100, 12345])
@pytest.mark.parametrize("method", [stats.wilson, stats.clopper_pearson])
def test_rate_intervals_end_exactly_at_0_and_1(method, n):
    assert method(0, n).low == 0.0
    assert method(n, n).high == 1.0


def exact_coverage(method, n: int, rates: np.ndarray) -> np.ndarray:
    k = np.arange(n + 1)[:, None]
    mass = reference.binom.pmf(k, n, rates)
    return np.sum(covers(method(k, n), rates) * mass, axis=0)


@pytest.mark.parametrize(
    # Wilson holds 95 % on average over rates, not for each: counts are whole numbers, so coverage jumps
    # as the rate moves. At these n it stays above 92.5 % for rates from .1 to .9 and drops to 85 % at the
    # ends; a floor of 94 % for all rates would be false.
    ("n", "middle_floor", "floor"),
    [(20, 0.926, 0.85), (50, 0.930, 0.86), (100, 0.932, 0.90)],
)
def test_wilson_coverage_is_nominal_on_average(n, middle_floor, floor):
    rates = np.linspace(0.001, 0.999, 999)
    coverage = exact_coverage(stats.wilson, n, rates)
    assert 0.950 <= coverage.mean() <= 0.954
    assert middle_floor <= coverage[(rates >= 0.1) & (rates <= 0.9)].min() < 0.94
    assert floor <= coverage.min() < 0.94


@pytest.mark.parametrize("n", [20, 50, 100])
def test_clopper_pearson_never_covers_less_than_its_level(n):
    coverage = exact_coverage(stats.clopper_pearson, n, np.linspace(0.001, 0.999, 999))
    assert coverage.min() >= 0.95
    assert coverage.mean() < 0.98


# --- intervals of a mean ---


def test_t_interval_agrees_with_scipy_and_leaves_nan_out():
    values = [0.31, 0.52, 0.44, 0.61]
    low, high = reference.t.interval(0.9, 3, np.mean(values), reference.sem(values))
    found = stats.t_interval([*values, NAN], level=0.9)
    assert (found.low, found.high) == pytest.approx((low, high))
    assert (found.n, found.method) == (4, "Student t")


@pytest.mark.parametrize("values", [[0.8], [0.8, NAN], [NAN]])
def test_t_interval_of_one_seed_is_not_zero_width(values):
    found = stats.t_interval(values)
    assert math.isnan(found.low)
    assert math.isnan(found.high)


@pytest.mark.parametrize("n", [2, 3, 5, 10])
def test_t_interval_coverage(n):
    sims, draws = 4000, rng(n).normal(3.0, 2.0, size=(4000, n))
    hits = [bool(covers(stats.t_interval(seeds), 3.0)) for seeds in draws]
    assert within_noise(np.mean(hits), 0.95, sims)
    if n < 5:
        half = 1.96 * draws.std(axis=1, ddof=1) / math.sqrt(n)
        assert np.mean(np.abs(draws.mean(axis=1) - 3.0) <= half) < 0.90


def test_bootstrap_weights_are_multinomial_counts():
    weights = stats.bootstrap_weights(50, 4000, rng())
    assert weights.shape == (4000, 50)
    assert np.all(weights.sum(axis=1) == 50)
    assert np.all(weights >= 0)
    np.testing.assert_allclose(weights.mean(axis=0), 1, atol=0.08)
    assert weights.var() == pytest.approx(1 - 1 / 50, abs=0.03)


def test_bootstrap_mean_agrees_with_theory_and_scipy():
    values = rng(1).exponential(size=60)
    found = stats.bootstrap_mean(values, rng(), resamples=20_000)
    theirs = reference.bootstrap(
        (values,), np.mean, n_resamples=20_000, method="percentile", rng=rng(2)
    ).confidence_interval
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), abs=0.015)
    assert (found.method, found.n) == ("bootstrap", 60)


def test_bootstrap_mean_coverage():
    # Percentile intervals of a mean fall short for few values: 90 % at 10, 93 % at 20.
    for n, low, high in [(10, 0.87, 0.93), (100, 0.93, 0.965)]:
        draws = rng(n).normal(size=(1000, n))
        hits = [bool(covers(stats.bootstrap_mean(row, rng(i), 500), 0.0)) for i, row in enumerate(draws)]
        assert low < np.mean(hits) < high


def test_percentile_interval_cuts_both_ends_and_ignores_nan():
    replicates = np.r_[rng().permutation(np.arange(1.0, 1001)), [NAN] * 50]
    found = stats.percentile_interval(replicates, "bootstrap", n=3, level=0.9)
    assert (found.low, found.high) == (51.0, 950.0)
    both = stats.percentile_interval(np.c_[replicates, -replicates], "bootstrap", 3, 0.9)
    np.testing.assert_array_equal(both.low, [51, -950])
    assert math.isnan(stats.percentile_interval([NAN, NAN], "bootstrap", 3).low)


def test_percentile_interval_takes_infinite_replicates():
    found = stats.percentile_interval([0.1] * 50 + [math.inf] * 50, "bootstrap", n=3)
    assert (found.low, found.high) == (0.1, math.inf)


# --- seeds x episodes ---


def test_cluster_means_have_the_variance_of_two_stage_draws():
    values = rng(3).normal(size=(4, 25)) + rng(4).normal(size=(4, 1))
    means = stats.cluster_resample_means(values, rng(), 40_000)
    between, inside = values.mean(axis=1).var(), values.var(axis=1).mean()
    assert means.mean() == pytest.approx(values.mean(), abs=0.01)
    assert means.var() == pytest.approx((between + inside / 25) / 4, rel=0.04)


def test_cluster_means_are_paired_across_leading_axes():
    base = rng(1).random((3, 20))
    means = stats.cluster_resample_means(np.stack([[base, base + 0.25]] * 5), rng(), 300)
    assert means.shape == (300, 5, 2)
    np.testing.assert_allclose(means[..., 1] - means[..., 0], 0.25)
    np.testing.assert_array_equal(means[:, 0], means[:, 4])
    assert means[:, 0, 0].std() > 0.01


def test_cluster_means_of_successes_are_exact_fractions():
    means = stats.cluster_resample_means(np.ones((2, 3, 7)), rng(), 500)
    assert np.all(means == 1.0)


def test_cluster_means_leave_missing_values_out():
    values = np.full((2, 3, 10), 5.0)
    values[0, :, ::2] = NAN
    values[1] = NAN
    means = stats.cluster_resample_means(values, rng(), 200)
    np.testing.assert_allclose(means[:, 0], 5.0)
    assert np.isnan(means[:, 1]).all()


def test_cluster_means_depend_on_the_generator_alone():
    values = rng(1).random((7, 3, 100))
    first, again = (stats.cluster_resample_means(values, rng(5)) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, stats.cluster_resample_means(values, rng(6)))


def test_cluster_means_are_fast():
    values, seconds = rng(1).random((7, 3, 100)), []
    for _ in range(10):
        start = time.perf_counter()
        stats.cluster_resample_means(values, rng(), 2000)
        seconds.append(time.perf_counter() - start)
    assert min(seconds) < 0.02


def test_cluster_bootstrap_takes_seeds_of_unequal_length():
    seeds = [[1.0] * 40, [0.0] * 10]
    found = stats.cluster_bootstrap(seeds, rng())
    assert (found.low, found.high, found.n) == (0.0, 1.0, 2)
    assert found.method == "cluster bootstrap"


def test_cluster_bootstrap_of_one_seed_is_named_for_what_it_is():
    episodes = rng().random(30)
    assert stats.cluster_bootstrap([episodes], rng(1)) == stats.bootstrap_mean(episodes, rng(1))
    assert stats.cluster_bootstrap([episodes], rng(1)).method == "bootstrap"


def seed_study(seeds: int, sims: int = 2000, episodes: int = 100) -> np.ndarray:
    """Successes of seeds whose true rates are Beta(3.5, 1.5): mean 0.7, standard deviation 0.19."""
    random = rng(seeds)
    rates = random.beta(3.5, 1.5, size=(sims, seeds, 1))
    return (random.random((sims, seeds, episodes)) < rates).astype(float)


@pytest.mark.parametrize(
    # Nominal, within a point, from about 30 seeds; 3 seeds cover 77 %.
    ("seeds", "low", "high"),
    [(3, 0.73, 0.81), (10, 0.89, 0.935), (30, 0.93, 0.965)],
)
def test_cluster_bootstrap_coverage(seeds, low, high):
    means = stats.cluster_resample_means(seed_study(seeds), rng(), 1000)
    coverage = covers(stats.percentile_interval(means, "cluster bootstrap", seeds), 0.7).mean()
    assert low < coverage < high


def test_cluster_bootstrap_coverage_through_the_public_call():
    studies = seed_study(30, sims=300, episodes=20)
    hits = [bool(covers(stats.cluster_bootstrap(list(s), rng(i), 400), 0.7)) for i, s in enumerate(studies)]
    assert 0.90 < np.mean(hits) < 0.99


@pytest.mark.parametrize("seeds", [3, 10, 30])
def test_pooled_wilson_is_too_narrow_when_seeds_differ_and_t_is_not(seeds):
    study = seed_study(seeds)
    assert covers(stats.wilson(study.sum(axis=(1, 2)), seeds * 100), 0.7).mean() < 0.45
    t_hits = [bool(covers(stats.t_interval(means), 0.7)) for means in study.mean(axis=2)]
    assert 0.92 < np.mean(t_hits) < 0.965


# --- comparing two policies ---


def test_two_proportion_z_worked_value():
    found = stats.two_proportion_z(80, 100, 65, 100)
    assert found.statistic == pytest.approx(0.15 / math.sqrt(0.725 * 0.275 * 2 / 100))
    assert found.p_value == pytest.approx(reference.chi2_contingency([[80, 20], [65, 35]], correction=False).pvalue)
    assert stats.two_proportion_z(65, 100, 80, 100).statistic == -found.statistic
    assert found.n == 200


@pytest.mark.parametrize("successes", [0, 30])
def test_two_proportion_z_without_any_spread(successes):
    found = stats.two_proportion_z(successes, 30, successes, 30)
    assert (found.statistic, found.p_value) == (0.0, 1.0)


def test_compare_rates():
    found = stats.compare_rates(0.80, 0.65, 100, "clean", "robust")
    assert (found.name_a, found.name_b, found.n, found.significant) == ("clean", "robust", 100, True)
    assert found.difference == pytest.approx(0.15)
    assert found.z == pytest.approx(stats.two_proportion_z(80, 100, 65, 100).statistic)
    assert not stats.compare_rates(0.80, 0.75, 100).significant
    assert stats.compare_rates(0.65, 0.80, 100).z == pytest.approx(-found.z)


def false_positives(reject: np.ndarray, rates: np.ndarray) -> np.ndarray:
    """Chance to reject at each rate when both policies have it; `reject` is indexed by both counts."""
    n_a, n_b = reject.shape[0] - 1, reject.shape[1] - 1
    mass_a = reference.binom.pmf(np.arange(n_a + 1), n_a, rates[:, None])
    mass_b = reference.binom.pmf(np.arange(n_b + 1), n_b, rates[:, None])
    return np.einsum("ra,ab,rb->r", mass_a, reject.astype(float), mass_b)


@pytest.mark.parametrize("n", [20, 50, 100])
def test_two_proportion_z_false_positives(n):
    # Exact, summed over all tables: nominal to within a point, a little above .05 at the worst rate.
    counts = range(n + 1)
    reject = np.array([[stats.two_proportion_z(a, n, b, n).p_value < 0.05 for b in counts] for a in counts])
    found = false_positives(reject, np.linspace(0.01, 0.99, 99))
    assert 0.04 < found[49] < 0.06
    assert 0.05 < found.max() < 0.06


def test_boschloo_worked_value():
    # Example of scipy's documentation: 74 of 117 against 31 of 63, one-sided p .0355.
    found = stats.boschloo(74, 117, 31, 63)
    assert found.p_value == pytest.approx(2 * 0.0355, abs=5e-4)
    assert (found.method, found.n) == ("Boschloo", 180)
    assert stats.boschloo(31, 63, 74, 117).p_value == pytest.approx(found.p_value, abs=1e-4)


@pytest.mark.parametrize("successes", [0, 8])
def test_boschloo_without_any_spread(successes):
    assert stats.boschloo(successes, 8, successes, 8).p_value == 1.0


def test_boschloo_never_exceeds_its_level_and_beats_fisher():
    tables = [[(a, 8, b, 11) for b in range(12)] for a in range(9)]
    exact = np.array([[stats.boschloo(*table).p_value <= 0.05 for table in row] for row in tables])
    fisher = np.array(
        [[reference.fisher_exact([[a, b], [8 - a, 11 - b]]).pvalue <= 0.05 for a, _, b, _ in row] for row in tables]
    )
    found = false_positives(exact, np.linspace(0.01, 0.99, 99))
    assert 0.025 < found.max() <= 0.05
    assert found.max() > false_positives(fisher, np.linspace(0.01, 0.99, 99)).max()


@pytest.mark.parametrize(("only_a", "only_b"), [(9, 1), (1, 9), (5, 5), (4, 3), (0, 6), (40, 61)])
def test_mcnemar_agrees_with_the_binomial_test(only_a, only_b):
    found = stats.mcnemar_exact(only_a, only_b)
    assert found.p_value == pytest.approx(reference.binomtest(only_a, only_a + only_b).pvalue)
    assert (found.statistic, found.n) == (only_a - only_b, only_a + only_b)


def test_mcnemar_without_discordant_pairs():
    assert stats.mcnemar_exact(0, 0).p_value == 1.0


def test_mcnemar_false_positives():
    # Exact for every number of discordant pairs; the level is used up as that number grows.
    found = []
    for n in range(1, 201):
        reject = np.array([stats.mcnemar_exact(k, n - k).p_value <= 0.05 for k in range(n + 1)])
        found.append(reject @ reference.binom.pmf(np.arange(n + 1), n, 0.5))
    assert max(found) <= 0.05
    assert min(found[100:]) > 0.03


def correlated_pairs(random: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Two policies with rates .80 and .65 on episodes whose difficulty they share."""
    difficulty, own = random.random(n), random.normal(0, 0.05, size=(2, n))
    return difficulty + own[0] < 0.80, difficulty + own[1] < 0.65


def test_paired_tests_have_more_power_than_unpaired_ones():
    sims, n, random = 500, 60, rng(7)
    rejected = {"z": 0, "mcnemar": 0, "bootstrap": 0}
    for _ in range(sims):
        a, b = correlated_pairs(random, n)
        rejected["z"] += stats.two_proportion_z(int(a.sum()), n, int(b.sum()), n).p_value < 0.05
        rejected["mcnemar"] += stats.mcnemar_exact(int((a & ~b).sum()), int((b & ~a).sum())).p_value < 0.05
        rejected["bootstrap"] += stats.paired_bootstrap(a, b, random, 500)[1].p_value < 0.05
    assert rejected["z"] < 0.6 * sims
    assert rejected["mcnemar"] > 0.8 * sims
    assert rejected["bootstrap"] > 0.8 * sims


def test_paired_bootstrap_coverage_and_false_positives():
    sims, n, random = 1000, 100, rng(8)
    hits, positives, unpaired = 0, 0, 0
    for _ in range(sims):
        shared = random.normal(0, 5, size=n)
        a, b = shared + random.normal(size=n), shared + random.normal(size=n)
        interval, _ = stats.paired_bootstrap(a + 0.3, b, random, 500)
        hits += bool(covers(interval, 0.3))
        null_interval, null_test = stats.paired_bootstrap(a, b, random, 500)
        positives += null_test.p_value < 0.05
        assert null_test.p_value >= 0.05 or not covers(null_interval, 0.0)
        unpaired += interval.high - interval.low > 1
    assert within_noise(hits / sims, 0.945, sims)
    assert within_noise(positives / sims, 0.05, sims)
    assert unpaired == 0  # without pairing the width would be near 2.8


def test_paired_bootstrap_worked_values():
    interval, test = stats.paired_bootstrap([3.0, 5.0, NAN], [1.0, 3.0, 9.0], rng(), resamples=99)
    assert (interval.low, interval.high, interval.n) == (2.0, 2.0, 2)
    assert (test.statistic, test.p_value, test.n) == (2.0, 2 / 100, 2)
    assert stats.paired_bootstrap([1.0, 2.0], [1.0, 2.0], rng())[1].p_value == 1.0


def test_holm_worked_values():
    np.testing.assert_allclose(stats.holm([0.01, 0.04, 0.03, 0.005]), [0.03, 0.06, 0.06, 0.02])
    np.testing.assert_allclose(stats.holm([0.5, 0.6]), [1.0, 1.0])
    np.testing.assert_allclose(stats.holm([0.02, NAN, 0.03]), [0.04, NAN, 0.04])
    assert stats.holm([]).size == 0


def test_holm_family_wise_error():
    sims, random = 4000, rng(9)
    plain = adjusted = bonferroni = found = 0
    for _ in range(sims):
        null = random.random(5)
        effects = reference.norm.sf(random.normal(2.7, 1, size=5))
        family = stats.holm(np.r_[null, effects])
        plain += null.min() < 0.05
        adjusted += family[:5].min() < 0.05
        found += np.sum(family[5:] < 0.05)
        bonferroni += np.sum(effects * 10 < 0.05)
    assert plain / sims > 0.2
    assert 0.03 < adjusted / sims < 0.05 + 4 * math.sqrt(0.05 * 0.95 / sims)
    assert found > bonferroni


# --- how many episodes ---


@pytest.mark.parametrize(
    ("rate", "margin", "episodes"),
    [(0.5, 0.05, 385), (0.8, 0.05, 246), (0.95, 0.05, 73), (0.5, 0.1, 97), (0.8, 0.1, 62), (0.95, 0.1, 19)],
)
def test_sample_size_formula(rate, margin, episodes):
    assert stats.sample_size(rate, margin) == episodes


@pytest.mark.parametrize("margin", [0.05, 0.1])
@pytest.mark.parametrize("rate", [0.5, 0.8, 0.95])
def test_formula_puts_the_estimate_within_the_margin(rate, margin):
    n = stats.sample_size(rate, margin)
    k = np.arange(n + 1)
    inside = np.abs(k / n - rate) <= margin + 1e-12
    assert inside @ reference.binom.pmf(k, n, rate) > 0.93


def expected_half_width(n: int, rate: float, level: float) -> float:
    k, tail = np.arange(n + 1), (1 - level) / 2
    low = np.where(k == 0, 0, reference.beta.ppf(tail, np.maximum(k, 1), n - k + 1))
    high = np.where(k == n, 1, reference.beta.ppf(1 - tail, k + 1, np.maximum(n - k, 1)))
    return float((high - low) / 2 @ reference.binom.pmf(k, n, rate))


@pytest.mark.parametrize(
    ("rate", "margin", "level"),
    [
        (0.5, 0.05, 0.95),
        (0.8, 0.05, 0.95),
        (0.95, 0.05, 0.95),
        (1.0, 0.05, 0.95),
        (0.0, 0.1, 0.9),
        (0.3, 0.2, 0.99),
    ],
)
def test_exact_sample_size_is_the_smallest_that_delivers(rate, margin, level):
    n = stats.exact_sample_size(rate, margin, level)
    assert expected_half_width(n, rate, level) <= margin < expected_half_width(n - 1, rate, level)


@pytest.mark.parametrize("rate", [0.0, 0.01, 0.3, 0.5, 0.95])
@pytest.mark.parametrize("level", [0.5, 0.95])
def test_expected_half_width_falls_with_n(rate, level):
    # This is what lets the search halve its range.
    widths = [stats._expected_half_width(n, rate, level) for n in range(1, 400)]
    assert np.all(np.diff(widths) < 0)


def test_exact_sample_size_at_the_smallest_margin():
    assert 960_365 < stats.exact_sample_size(0.5, 0.001) < 962_400


# --- curves ---


# --- bad inputs ---

BAD_CALLS = [
    (lambda: stats.wilson(0, 0), "`n` must be at least 1, got 0"),
    (lambda: stats.wilson(11, 10), "`successes` must be between 0 and `n`, got 11"),
    (lambda: stats.clopper_pearson(-1, 10), "`successes` must be between 0 and `n`, got -1"),
    (lambda: stats.wilson(0.8, 10), "`successes` must be a whole number, got 0.8"),
    (lambda: stats.wilson([1, 2], [10, 10.5]), "`n` must be a whole number"),
    (lambda: stats.wilson(8, 10, level=95), "`level` must be above 0 and below 1, got 95"),
    (lambda: stats.t_interval([1.0, 2.0], level=0), "`level` must be above 0 and below 1, got 0"),
    (lambda: stats.bootstrap_weights(0, 10, rng()), "`n` must be at least 1, got 0"),
    (lambda: stats.bootstrap_mean([1.0], rng(), resamples=0), "`resamples` must be at least 1, got 0"),
    (lambda: stats.bootstrap_mean([], rng()), "`values` must be of shape"),
    (lambda: stats.percentile_interval([], "bootstrap", 3), "`replicates` must be at least 1 number, got 0"),
    (lambda: stats.cluster_bootstrap([], rng()), "`values_by_seed` must be at least 1 seed, got 0"),
    (lambda: stats.cluster_resample_means([1.0], rng()), r"`values` must be of shape .*, got \(1,\)"),
    (lambda: stats.two_proportion_z(1, 10, 5, 0), "`n_b` must be at least 1, got 0"),
    (lambda: stats.boschloo(12, 10, 5, 10), "`successes_a` must be between 0 and `n_a`, got 12"),
    (lambda: stats.compare_rates(80, 0.5, 10), "`rate_a` must be between 0 and 1, got 80"),
    (lambda: stats.compare_rates(0.8, NAN, 10), "`rate_b` must be between 0 and 1, got nan"),
    (lambda: stats.compare_rates(0.8, 0.5, 0), "`n` must be at least 1, got 0"),
    (lambda: stats.mcnemar_exact(3, -1), "`only_b` must be at least 0, got -1"),
    (
        lambda: stats.paired_bootstrap([1.0], [1.0, 2.0], rng()),
        r"`b` must be of the shape of `a`, \(1,\), got \(2,\)",
    ),
    (lambda: stats.paired_bootstrap([NAN], [1.0], rng()), "`a - b` must be at least 1 number, got 0"),
    (lambda: stats.holm([0.5, 1.5]), "`p_values` must be between 0 and 1"),
    (lambda: stats.sample_size(1.2, 0.05), "`rate` must be between 0 and 1, got 1.2"),
    (lambda: stats.sample_size(0.8, 5), "`margin` must be at least 0.001 and below 0.5, got 5"),
    (lambda: stats.exact_sample_size(0.8, 0), "`margin` must be at least 0.001 and below 0.5, got 0"),
    (lambda: curves.slope([0, 1], [1, 0.5, 0]), r"`rates` must be of shape \(..., 2\), got \(3,\)"),
    (lambda: curves.auc([0, 0], [1, 1]), r"`levels` must be distinct numbers, got \[0.0, 0.0\]"),
    (lambda: curves.critical_level([], []), "`levels` must be a list of numbers"),
]


@pytest.mark.parametrize(("call", "message"), BAD_CALLS, ids=[message for _, message in BAD_CALLS])
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_importing_stats_does_not_load_scipy():
    code = "import runpy, sys; runpy.run_path(sys.argv[1]); sys.exit('scipy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code, stats.__file__], check=False).returncode == 0
