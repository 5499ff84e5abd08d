"""Sobol indices and Morris effects: known functions, simulated policies, intervals that cover."""

import numpy as np
import pytest
from SALib.analyze import sobol

from brittlestar.randomness import generator
from brittlestar.statistics.sensitivity import morris_design, morris_effects, sobol_design, sobol_indices

WEIGHTS = np.array([0.5, 0.3, 0.15, 0.05])
PROBLEM = {"num_vars": 3, "names": ["a", "b", "c"], "bounds": [[0.0, 1.0]] * 3}


def ishigami(points: np.ndarray, a: float = 7.0, b: float = 0.1) -> np.ndarray:
    x = (2 * points - 1) * np.pi
    return np.sin(x[:, 0]) + a * np.sin(x[:, 1]) ** 2 + b * x[:, 2] ** 4 * np.sin(x[:, 0])


def ishigami_indices(a: float = 7.0, b: float = 0.1) -> tuple[np.ndarray, np.ndarray]:
    """First and total indices, in closed form."""
    first, second = 0.5 * (1 + b * np.pi**4 / 5) ** 2, a**2 / 8
    both = b**2 * np.pi**8 * (1 / 18 - 1 / 50)
    variance = first + second + both
    return np.array([first, second, 0]) / variance, np.array([first + both, second, both]) / variance


def policy(points: np.ndarray, episodes: int, seed: int) -> np.ndarray:
    """An episode fails if the weighted sum of the factors is above its own limit, uniform in [0, 1].

    The failure rate is the weighted sum, so that both indices of a factor are its squared weight as a share of all.
    """
    limits = generator(seed, "limits").random(episodes)
    return (points @ WEIGHTS)[:, None] > limits


def covered(result, first: np.ndarray, total: np.ndarray) -> np.ndarray:
    pairs = ((result.first, first), (result.total, total))
    return np.array([(one.low <= truth) & (truth <= one.high) for one, truth in pairs])


@pytest.mark.parametrize(
    ("samples", "repetitions", "least"),
    [
        (64, 12, 0.75),
        pytest.param(64, 200, 0.9, marks=pytest.mark.slow),
        pytest.param(256, 200, 0.9, marks=pytest.mark.slow),
    ],
)
def test_intervals_cover_the_indices_of_ishigami(samples, repetitions, least):
    hits = []
    for seed in range(repetitions):
        response = ishigami(sobol_design(3, samples, seed))[:, None]
        hits.append(covered(sobol_indices(response, 3, generator(seed, "test")), *ishigami_indices()))
    assert (np.mean(hits, axis=0) >= least).all(), np.mean(hits, axis=0)


@pytest.mark.parametrize(
    ("samples", "episodes", "repetitions", "least"),
    [
        (64, 50, 12, 0.75),
        pytest.param(64, 25, 200, 0.93, marks=pytest.mark.slow),
        pytest.param(256, 100, 200, 0.93, marks=pytest.mark.slow),
    ],
)
def test_intervals_cover_the_indices_of_a_simulated_policy(samples, episodes, repetitions, least):
    truth, hits = WEIGHTS**2 / (WEIGHTS**2).sum(), []
    for seed in range(repetitions):
        response = policy(sobol_design(4, samples, seed), episodes, seed)
        hits.append(covered(sobol_indices(response, 4, generator(seed, "test")), truth, truth))
    assert (np.mean(hits, axis=0) >= least).all(), np.mean(hits, axis=0)


def test_few_episodes_do_not_pass_for_interactions():
    """The plain total index of the weakest factor is several times too large with 20 episodes."""
    truth, ours, plain = 0.0068, [], []
    for seed in range(20):
        response = policy(sobol_design(4, 128, seed), 20, seed)
        ours.append(sobol_indices(response, 4, generator(seed, "test")).total.value[3])
        means = response.mean(axis=1)
        problem = {"num_vars": 4, "names": list("abcd"), "bounds": [[0.0, 1.0]] * 4}
        plain.append(sobol.analyze(problem, means, calc_second_order=False, num_resamples=2, seed=1)["ST"][3])
    assert np.mean(plain) > 2 * truth
    assert abs(np.mean(ours) - truth) < 0.4 * truth


@pytest.mark.parametrize("episodes", [1, 3])
def test_a_response_without_noise_has_the_indices_of_salib(episodes):
    response = ishigami(sobol_design(3, 64, 5))
    theirs = sobol.analyze(PROBLEM, response, calc_second_order=False, num_resamples=2, seed=1)
    ours = sobol_indices(np.repeat(response[:, None], episodes, axis=1), 3, generator(0, "test"))
    assert np.allclose(ours.first.value, theirs["S1"]) and np.allclose(ours.total.value, theirs["ST"])


def test_shares_are_within_0_and_1_and_cover_as_much():
    first, total = WEIGHTS**2 / (WEIGHTS**2).sum(), WEIGHTS**2 / (WEIGHTS**2).sum()
    for seed in range(20):
        indices = sobol_indices(policy(sobol_design(4, 4, seed), 5, seed), 4, generator(seed, "test"))
        parts = np.array(indices.as_shares())
        assert parts.shape == (2, 3, 4) and not ((parts < 0) | (parts > 1)).any()
        assert (covered(indices.as_shares(), first, total) >= covered(indices, first, total)).all()


def test_a_variance_that_the_noise_hides_leaves_the_whole_range():
    hidden = sobol_indices(policy(sobol_design(4, 4, 0), 5, 0), 4, generator(0, "test")).as_shares()
    assert np.isnan(hidden.total.value).all()
    assert (hidden.total.low == 0).all() and (hidden.total.high == 1).all()


def test_a_constant_response_has_no_indices():
    result = sobol_indices(np.ones((8 * 5, 4)), 3, generator(0, "test"))
    assert np.isnan(result.first.value).all() and np.isnan(result.total.high).all()


def test_morris_effects_of_a_linear_rate_are_its_weights():
    design = morris_design(4, 30, seed=2)
    result = morris_effects(design, policy(design, 400, seed=2).astype(float), generator(0, "test"))
    assert np.allclose(result.size.value, WEIGHTS, atol=0.06) and np.allclose(result.mean, result.size.value, atol=0.02)
    assert ((result.size.low <= WEIGHTS) & (result.size.high >= WEIGHTS)).all()


def test_the_same_seed_gives_the_same_design_and_seed_0_is_a_seed():
    for make in (sobol_design, morris_design):
        assert np.array_equal(make(3, 8, 0), make(3, 8, 0)) and not np.array_equal(make(3, 8, 0), make(3, 8, 1))


@pytest.mark.parametrize("samples", [0, 1, 6])
def test_a_sobol_design_needs_a_power_of_2(samples):
    with pytest.raises(ValueError, match=f"`samples` must be a power of 2 from 2 on, got {samples}"):
        sobol_design(3, samples, 0)
