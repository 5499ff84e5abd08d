"""The power of fixed designs, against simulation."""

import math

import numpy as np
import pytest
from scipy import stats as reference

from brittlestar.statistics.paired_sample_size import mcnemar_pairs, mcnemar_power, t_pairs


@pytest.mark.parametrize(
    ("n", "only_a", "only_b", "alpha"), [(20, 0.5, 0.1, 0.05), (80, 0.2, 0.1, 0.01), (9, 1, 0, 0.1)]
)
def test_power_agrees_with_simulation(n, only_a, only_b, alpha):
    rng, sims = np.random.default_rng(0), 20_000
    won, lost, _ = rng.multinomial(n, [only_a, only_b, 1 - only_a - only_b], size=sims).T
    p = 2 * reference.binom.cdf(lost, won + lost, 0.5)
    assert mcnemar_power(n, only_a, only_b, alpha) == pytest.approx(np.mean(p <= alpha), abs=0.015)


def test_pairs_are_as_many_as_the_power_needs():
    n = int(mcnemar_pairs(0.3, 0.1))
    assert mcnemar_power(n, 0.3, 0.1) >= 0.8 > mcnemar_power(n - 5, 0.3, 0.1)
    assert mcnemar_pairs(0.1, 0.3) == n, "whichever is better"
    assert mcnemar_pairs(0.2, 0.2) == math.inf


def test_pairs_of_a_t_test_have_the_power():
    n = int(t_pairs(0.5, 1.0))
    values = np.random.default_rng(0).normal(0.5, 1.0, (4000, n))
    assert np.mean(reference.ttest_1samp(values, 0.0, axis=1).pvalue < 0.05) == pytest.approx(0.8, abs=0.03)
    assert t_pairs(0.0, 1.0) == math.inf
