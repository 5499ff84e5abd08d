import functools
import math

import numpy as np
import pytest
from scipy import linalg

from brittlestar.statistics.trajectories import (
    action_mse,
    dtw_distance,
    dtw_distances,
    frechet_distance,
)


def recursive_dtw(a, b):
    """The definition, without a table."""

    @functools.cache
    def least(i, j):
        cost = math.dist(np.atleast_1d(a[i]), np.atleast_1d(b[j]))
        before = [least(k, m) for k, m in ((i - 1, j), (i, j - 1), (i - 1, j - 1)) if k >= 0 and m >= 0]
        return cost + min(before, default=0.0)

    return least(len(a) - 1, len(b) - 1)


@pytest.mark.parametrize(("n", "m", "size"), [(1, 1, 1), (1, 7, 2), (6, 1, 3), (5, 9, 1), (9, 5, 2), (8, 8, 4)])
def test_time_warping_equals_its_definition(n, m, size, rng):
    a, b = rng.normal(size=(n, size)), rng.normal(size=(m, size))
    assert dtw_distance(a, b) == pytest.approx(recursive_dtw(a, b), rel=1e-12)


def test_time_warping_to_several_trajectories_equals_that_to_each(rng, monkeypatch):
    a = rng.normal(size=(6, 2))
    others = [rng.normal(size=(steps, 2)) for steps in (1, 4, 6, 9, 2)]
    expected = [dtw_distance(a, other) for other in others]
    np.testing.assert_allclose(dtw_distances(a, others), expected, rtol=1e-12)
    monkeypatch.setattr("brittlestar.statistics.trajectories._BLOCK_NUMBERS", 40)
    np.testing.assert_allclose(dtw_distances(a, others), expected, rtol=1e-12)
    assert dtw_distances(a, []).tolist() == []


def test_time_warping_is_symmetric_and_forgives_another_speed(rng):
    a = np.cumsum(rng.normal(size=(20, 2)), axis=0)
    assert dtw_distance(a, np.repeat(a, 3, axis=0)) == 0.0
    b = a[::-1] + 0.1
    assert dtw_distance(a, b) == pytest.approx(dtw_distance(b, a))


def matrix_formula(a, b):
    """The usual formula, with a matrix square root."""
    first, second = np.cov(a.T), np.cov(b.T)
    root = linalg.sqrtm(first @ second).real
    return float(((a.mean(axis=0) - b.mean(axis=0)) ** 2).sum() + np.trace(first + second - 2 * root))


def test_the_frechet_distance_equals_the_formula_with_a_matrix_root(rng):
    a = rng.normal(size=(200, 4)) @ rng.normal(size=(4, 4))
    b = rng.normal(size=(150, 4)) @ rng.normal(size=(4, 4)) + 1.0
    assert frechet_distance(a, b) == pytest.approx(matrix_formula(a, b), rel=1e-9)


def test_the_frechet_distance_needs_no_full_covariance(rng):
    # Both sets lie in one plane of 50 dimensions, where the formula can be computed.
    plane = np.linalg.qr(rng.normal(size=(50, 2)))[0]
    a, b = rng.normal(size=(9, 2)), rng.normal(size=(7, 2)) * [1.0, 3.0] + 2.0
    assert frechet_distance(a @ plane.T, b @ plane.T) == pytest.approx(matrix_formula(a, b), rel=1e-9)
    assert frechet_distance(a @ plane.T, a @ plane.T) == pytest.approx(0.0, abs=1e-9)


def test_the_frechet_distance_of_one_distribution_falls_with_the_number_of_vectors(rng):
    means = []
    for n in (20, 80, 320):
        means.append(np.mean([frechet_distance(*rng.normal(size=(2, n, 5))) for _ in range(40)]))
    assert means[0] > means[1] > means[2] > 0
    # The bias falls as 1/n.
    assert means[0] / means[2] == pytest.approx(16, rel=0.3)


def test_the_frechet_distance_of_known_gaussians_is_met(rng):
    a, b = rng.normal(size=(40_000, 2)), 2.0 * rng.normal(size=(40_000, 2)) + [3.0, 0.0]
    # 3^2 + 2 (1 - 2)^2
    assert frechet_distance(a, b) == pytest.approx(11.0, rel=0.02)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: action_mse([[0.0]], [[0.0], [1.0]]), "`recorded` must be of shape \\(1, 1\\), got shape \\(2, 1\\)"),
        (lambda: action_mse([], []), "`predicted` must be of shape"),
        (lambda: dtw_distance([[0.0, 1.0]], [0.0]), "`others` must be 2 numbers per step, got 1"),
        (lambda: frechet_distance([[0.0]], [[0.0], [1.0]]), "sets of at least 2 vectors, got \\(1, 2\\)"),
        (lambda: frechet_distance(np.zeros((3, 2)), np.zeros((3, 1))), "`b` must be 2 numbers per vector, got 1"),
    ],
)
def test_wrong_arrays_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
