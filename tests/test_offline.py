"""Logged trajectories: worked values, an independent reference, bad shapes."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest
from scipy import stats as reference

from brittlestar import offline


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_action_mse_worked_value():
    assert offline.action_mse([[1.0, 2.0], [3.0, 4.0]], [[1.0, 0.0], [3.0, 1.0]]) == (4 + 9) / 4
    assert offline.action_mse(np.ones((5, 2)), np.ones((5, 2))) == 0.0


@pytest.mark.parametrize("std", [0.5, [0.5, 3.0], [[0.5, 3.0]] * 6], ids=["scalar", "per dimension", "per step"])
def test_action_log_likelihood_agrees_with_scipy(std):
    mean, logged = rng(1).normal(size=(6, 2)), rng(2).normal(size=(6, 2))
    theirs = reference.norm.logpdf(logged, mean, std).sum(axis=1).mean()
    assert offline.action_log_likelihood(mean, std, logged) == pytest.approx(theirs)


def test_discrete_log_likelihood_worked_value():
    found = offline.discrete_log_likelihood([[0.5, 0.5], [0.1, 0.9]], [0, 1])
    assert found == pytest.approx((math.log(0.5) + math.log(0.9)) / 2)
    assert offline.discrete_log_likelihood([[0.0, 1.0]], [0]) == -math.inf


def test_logits_and_probabilities_agree():
    logits, logged = rng(1).normal(0, 3, size=(20, 4)), rng(2).integers(4, size=20)
    probabilities = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    expected = offline.discrete_log_likelihood(probabilities, logged)
    assert offline.logit_log_likelihood(logits, logged) == pytest.approx(expected)


def test_huge_logits_do_not_overflow():
    assert offline.logit_log_likelihood([[1e4, 0.0]], [0]) == 0.0
    assert offline.logit_log_likelihood([[1e4, 0.0]], [1]) == -1e4


def slow_dtw(a: np.ndarray, b: np.ndarray) -> float:
    total = np.full((len(a) + 1, len(b) + 1), np.inf)
    total[0, 0] = 0
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            cost = np.linalg.norm(a[i - 1] - b[j - 1])
            total[i, j] = cost + min(total[i - 1, j], total[i, j - 1], total[i - 1, j - 1])
    return float(total[-1, -1])


@pytest.mark.parametrize("steps", [(1, 1), (1, 5), (5, 1), (7, 7), (12, 5), (5, 12)])
def test_dtw_agrees_with_the_textbook_loop(steps):
    a, b = rng(1).normal(size=(steps[0], 3)), rng(2).normal(size=(steps[1], 3))
    assert offline.dtw_distance(a, b) == pytest.approx(slow_dtw(a, b))
    assert offline.dtw_distance(b, a) == pytest.approx(slow_dtw(a, b))


def test_dtw_ignores_pauses_and_sees_detours():
    path = np.linspace([0.0, 0.0], [1.0, 2.0], 10)
    assert offline.dtw_distance(path, path) == 0.0
    assert offline.dtw_distance(path, np.repeat(path, 3, axis=0)) == 0.0
    assert offline.dtw_distance(path, path + np.array([0.0, 5.0])) > 5.0
    assert offline.dtw_distance([0, 1, 2], [0, 1, 4]) == 2.0


def test_dtw_of_a_thousand_steps_takes_less_than_a_second():
    a, b = rng(1).normal(size=(1000, 7)), rng(2).normal(size=(1000, 7))
    start = time.perf_counter()
    offline.dtw_distance(a, b)
    assert time.perf_counter() - start < 1


STEPS = np.zeros((3, 2))
BAD_CALLS = [
    (
        lambda: offline.action_mse([1.0, 2.0], STEPS),
        r"`predicted` must have shape \(steps, size\).*got \(2,\)",
    ),
    (
        lambda: offline.action_mse(STEPS, np.zeros((4, 2))),
        r"`logged` must have the shape of `predicted`, \(3, 2\)",
    ),
    (lambda: offline.action_mse(STEPS[:0], STEPS[:0]), "`predicted` must have .* at least 1 step"),
    (lambda: offline.action_log_likelihood(STEPS, 0.0, STEPS), "`std` must be above 0, got 0.0"),
    (lambda: offline.action_log_likelihood(STEPS, np.ones(3), STEPS), r"`std` must broadcast .*got \(3,\)"),
    (lambda: offline.action_log_likelihood(STEPS, np.ones((5, 3, 2)), STEPS), "`std` must broadcast"),
    (lambda: offline.action_log_likelihood(STEPS, 1.0, STEPS[:1]), r"`logged` must have the shape of `mean`"),
    (
        lambda: offline.discrete_log_likelihood([[0.5, 0.6]], [0]),
        "`probabilities` must be at least 0 and sum to 1",
    ),
    (lambda: offline.discrete_log_likelihood([[-0.5, 1.5]], [0]), "`probabilities` must be at least 0"),
    (
        lambda: offline.discrete_log_likelihood([[0.5, 0.5]], [2]),
        r"`logged` must be between 0 and 1, got \[2\]",
    ),
    (
        lambda: offline.logit_log_likelihood([[0.5, 0.5]], [-1]),
        r"`logged` must be between 0 and 1, got \[-1\]",
    ),
    (
        lambda: offline.logit_log_likelihood([[0.5, 0.5]], [0, 1]),
        r"`logged` must be 1 integers.*got shape \(2,\)",
    ),
    (lambda: offline.logit_log_likelihood([[0.5, 0.5]], [0.0]), "`logged` must be 1 integers.*of float64"),
    (
        lambda: offline.dtw_distance(np.zeros((3, 2)), np.zeros((3, 4))),
        "`b` must have 2 numbers per step.*got 4",
    ),
    (lambda: offline.dtw_distance([], [1.0]), "`a` must have .* at least 1 step"),
]


@pytest.mark.parametrize(("call", "message"), BAD_CALLS, ids=[message for _, message in BAD_CALLS])
def test_bad_shapes_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
