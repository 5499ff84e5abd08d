from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats as reference

from brittlestar.statistics.rank_tests import friedman, kruskal_wallis, mann_whitney, wilcoxon


def test_rank_tests_agree_with_scipy(rng):
    table = rng.normal(size=(12, 3))
    groups = [column.tolist() for column in table.T]
    assert mann_whitney(*groups[:2]) == pytest.approx(tuple(reference.mannwhitneyu(*groups[:2])))
    assert kruskal_wallis([*groups, []]) == pytest.approx(tuple(reference.kruskal(*groups)))
    assert friedman(table) == pytest.approx(tuple(reference.friedmanchisquare(*groups)))
    gaps = table[:, 0] - table[:, 1]
    assert wilcoxon(gaps) == pytest.approx(reference.wilcoxon(gaps).pvalue)
    assert friedman(table[:, :2])[1] == wilcoxon(gaps)


def test_groups_without_any_spread_do_not_differ():
    assert mann_whitney([1.0, 1.0], [1.0]) == (1.0, 1.0)
    assert kruskal_wallis([[1.0], [1.0, 1.0]]) == (0.0, 1.0)
    assert friedman(np.ones((4, 3))) == (0.0, 1.0)
    assert wilcoxon(np.zeros(4)) == 1.0


def test_nothing_to_compare_gives_nan():
    assert math.isnan(mann_whitney([], [1.0])[1])
    assert math.isnan(kruskal_wallis([[1.0], []])[1])
    assert math.isnan(friedman(np.ones((1, 3)))[1])
    assert math.isnan(wilcoxon(np.array([])))
