"""Worked values, bad inputs and the false positives that each test promises."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats as reference

from brittlestar.statistics.hypothesis_tests import (
    bootstrap_test,
    boschloo,
    holm,
    holm_levels,
    mcnemar_exact,
    sign_flip_test,
    t_test,
    two_proportion_z,
)  # fmt: skip

NAN = float("nan")


def test_two_proportion_z_worked_value():
    test = two_proportion_z(80, 100, 65, 100)
    assert test.p_value == pytest.approx(reference.chi2_contingency([[80, 20], [65, 35]], correction=False).pvalue)
    assert two_proportion_z(65, 100, 80, 100) == test


@pytest.mark.parametrize("successes", [0, 30])
def test_two_proportion_z_without_any_spread(successes):
    assert two_proportion_z(successes, 30, successes, 30).p_value == 1.0


def false_positives(reject: np.ndarray, rates: np.ndarray) -> np.ndarray:
    """Chance to reject at each rate when both policies have it; `reject` is indexed by both counts."""
    n_a, n_b = reject.shape[0] - 1, reject.shape[1] - 1
    mass_a = reference.binom.pmf(np.arange(n_a + 1), n_a, rates[:, None])
    mass_b = reference.binom.pmf(np.arange(n_b + 1), n_b, rates[:, None])
    return np.einsum("ra,ab,rb->r", mass_a, reject.astype(float), mass_b)


@pytest.mark.parametrize("n", [20, 50])
def test_two_proportion_z_false_positives(n):
    # Exact, summed over all tables: nominal to within a point, a little above .05 at the worst rate.
    counts = range(n + 1)
    reject = np.array([[two_proportion_z(a, n, b, n).p_value < 0.05 for b in counts] for a in counts])
    rates = false_positives(reject, np.linspace(0.01, 0.99, 99))
    assert 0.04 < rates[49] < 0.06
    assert 0.05 < rates.max() < 0.06


def test_boschloo_worked_value():
    # Example of scipy's documentation: 74 of 117 against 31 of 63, one-sided p .0355.
    test = boschloo(74, 117, 31, 63)
    assert test.p_value == pytest.approx(2 * 0.0355, abs=5e-4)
    assert test.method == "Boschloo"
    assert boschloo(31, 63, 74, 117).p_value == pytest.approx(test.p_value, abs=1e-4)


@pytest.mark.parametrize("successes", [0, 8])
def test_boschloo_without_any_spread(successes):
    assert boschloo(successes, 8, successes, 8).p_value == 1.0


def test_boschloo_never_exceeds_its_level_and_beats_fisher():
    tables = [[(a, 7, b, 9) for b in range(10)] for a in range(8)]
    exact = np.array([[boschloo(*table).p_value <= 0.05 for table in row] for row in tables])
    fisher = np.array(
        [[reference.fisher_exact([[a, b], [7 - a, 9 - b]]).pvalue <= 0.05 for a, _, b, _ in row] for row in tables]
    )
    rates = false_positives(exact, np.linspace(0.01, 0.99, 99))
    assert 0.04 < rates.max() <= 0.05
    assert rates.max() > false_positives(fisher, np.linspace(0.01, 0.99, 99)).max()


@pytest.mark.parametrize(("only_a", "only_b"), [(9, 1), (1, 9), (5, 5), (4, 3), (0, 6), (40, 61)])
def test_mcnemar_agrees_with_the_binomial_test(only_a, only_b):
    test = mcnemar_exact(only_a, only_b)
    assert test.p_value == pytest.approx(reference.binomtest(only_a, only_a + only_b).pvalue)


def test_mcnemar_without_discordant_pairs():
    assert mcnemar_exact(0, 0).p_value == 1.0


def test_mcnemar_false_positives():
    # Exact for every number of discordant pairs; the level is used up as that number grows.
    rates = []
    for n in range(1, 201):
        reject = np.array([mcnemar_exact(k, n - k).p_value <= 0.05 for k in range(n + 1)])
        rates.append(reject @ reference.binom.pmf(np.arange(n + 1), n, 0.5))
    assert max(rates) <= 0.05
    assert min(rates[100:]) > 0.03


def test_holm_worked_values():
    np.testing.assert_allclose(holm([0.01, 0.04, 0.03, 0.005]), [0.03, 0.06, 0.06, 0.02])
    np.testing.assert_allclose(holm([0.5, 0.6]), [1.0, 1.0])
    np.testing.assert_allclose(holm([0.02, NAN, 0.03]), [0.04, NAN, 0.04])
    assert holm([]).size == 0


def test_holm_family_wise_error():
    sims, random = 4000, np.random.default_rng(9)
    raw = adjusted = bonferroni = rejections = 0
    for _ in range(sims):
        null = random.random(5)
        effects = reference.norm.sf(random.normal(2.7, 1, size=5))
        family = holm(np.r_[null, effects])
        raw += null.min() < 0.05
        adjusted += family[:5].min() < 0.05
        rejections += np.sum(family[5:] < 0.05)
        bonferroni += np.sum(effects * 10 < 0.05)
    assert raw / sims > 0.2
    assert 0.03 < adjusted / sims < 0.05 + 4 * math.sqrt(0.05 * 0.95 / sims)
    assert rejections > bonferroni


def test_holm_levels_agree_with_adjusted_p_values(rng):
    for _ in range(300):
        p_values = rng.random(rng.integers(1, 8)) ** 3
        assert ((p_values < holm_levels(p_values)) == (holm(p_values) < 0.05)).all()
    assert holm_levels([]).size == holm([]).size == 0


def test_sign_flips_count_every_sum_that_is_as_large():
    """Of the four signs of two equal gaps, two give a sum as large; so do all signs of gaps without a sum."""
    rng = np.random.default_rng(0)
    assert sign_flip_test(np.array([0.1, 0.1]), rng, 4000).p_value == pytest.approx(0.5, abs=0.03)
    assert sign_flip_test(np.zeros(5), rng).p_value == 1


def test_a_bootstrap_test_is_never_certain():
    assert bootstrap_test(np.ones(99), "bootstrap").p_value == 2 / 100
    assert bootstrap_test(np.zeros(99), "bootstrap").p_value == 1.0


BAD_CALLS = [
    (lambda: two_proportion_z(1, 10, 5, 0), "`n_b` must be at least 1, got 0"),
    (lambda: boschloo(12, 10, 5, 10), "`successes_a` must be between 0 and `n_a`, got 12"),
    (lambda: mcnemar_exact(3, -1), "`only_b` must be at least 0, got -1"),
    (lambda: holm([0.5, 1.5]), "`p_values` must be between 0 and 1"),
]


@pytest.mark.parametrize(("call", "message"), BAD_CALLS, ids=[message for _, message in BAD_CALLS])
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("samples", [1, 2])
def test_t_tests_agree_with_scipy(rng, samples):
    values = [rng.normal(0.3, 1, 25), rng.normal(0, 2, 40)][:samples]
    expected = reference.ttest_1samp(values[0], 0) if samples == 1 else reference.ttest_ind(*values, equal_var=False)
    assert t_test(*values).p_value == pytest.approx(expected.pvalue)


def test_a_few_equal_values_are_no_proof():
    assert t_test(np.ones(3)).p_value == 0.25
    assert t_test(np.ones(1)).p_value == t_test(np.zeros(5)).p_value == 1
