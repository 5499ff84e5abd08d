import math

import numpy as np
import pytest

from brittlestar.studies.stress.ranking import pareto_front, rank_intervals, ranks, reward_norm, robust_score


def test_unknown_scores_have_no_rank():
    best, worst = ranks(np.array([[1.0, np.nan, 1.0 + 1e-14]]))
    assert best.tolist()[0][::2] == [1.0, 1.0] and worst.tolist()[0][::2] == [2.0, 2.0]
    assert math.isnan(best[0, 1]) and math.isnan(worst[0, 1])
    scores = np.array([0.2, np.nan, 0.5])
    rank, low, high = rank_intervals(scores, np.random.default_rng(0).normal(scores, 0.5, (500, 3)))
    assert (rank[2], low[2], high[2], high[0]) == (1, 1, 2, 2)


def test_rankings():
    assert reward_norm(np.array([-200.0, -100.0, -125.0])).tolist() == [0.0, 1.0, 0.75]
    assert reward_norm(np.array([3.0, 3.0])).tolist() == [0.0, 0.0]
    assert robust_score(np.array([0.8]), np.array([0.5]), np.array([0.2])) == pytest.approx(0.44 + 0.15 + 0.03)
    # Twins do not beat each other.
    assert pareto_front(np.array([1.0, 1.0, 0.0]), np.array([0.5, 0.5, 0.5])).tolist() == [True, True, False]
