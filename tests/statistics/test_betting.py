"""E-processes and intervals by betting: worked values, error rates under a look at every value, power."""

import numpy as np
import pytest
from scipy.special import betainc, betaln

from brittlestar.statistics.betting import betting_interval, growth, log_e_values, lower_bound

MEANS = {"skewed": 0.1, "uniform": 0.0, "three": -0.2, "extreme": 0.8}


def draw(name: str, shape: tuple[int, int], seed: int = 0) -> np.ndarray:
    """Numbers in [-1, 1] of several shapes, with the mean of `MEANS`."""
    rng = np.random.default_rng(seed)
    if name == "skewed":
        return rng.beta(0.55, 0.45, shape) * 2 - 1
    if name == "uniform":
        return rng.uniform(-1, 1, shape)
    if name == "three":
        return rng.choice([-1.0, 0.0, 1.0], p=[0.4, 0.4, 0.2], size=shape)
    return np.where(rng.random(shape) < 0.9, 1.0, -1.0)


def misses(name: str, runs: int, looks: int, alpha: float = 0.05) -> float:
    """How often the interval has missed the mean at any look."""
    values, mean = draw(name, (runs, looks)), MEANS[name]
    below = log_e_values(values, mean) >= -np.log(alpha / 2)
    above = log_e_values(-values, -mean) >= -np.log(alpha / 2)
    return float((below | above).any(axis=1).mean())


@pytest.mark.parametrize(("wins", "losses"), [(6, 0), (9, 2), (30, 10), (3, 8), (400, 300)])
def test_on_wins_and_losses_it_is_the_beta_mixture_truncated_at_one_half(wins, losses):
    expected = (wins + losses) * np.log(2) + betaln(wins + 0.5, losses + 0.5) - betaln(0.5, 0.5)
    expected += np.log(2 * betainc(losses + 0.5, wins + 0.5, 0.5))
    values = [1, 0] * wins + [-1, 0, 0] * losses
    assert log_e_values(values)[-1] == pytest.approx(expected, abs=1e-3)


def test_the_bound_is_the_greatest_mean_that_the_e_process_refutes():
    values = draw("three", (1, 80))[0] * 0.5 + 0.4
    low, high = betting_interval(values, (0.02, 0.03))
    assert log_e_values(values, low - 1e-6)[-1] >= -np.log(0.02) > log_e_values(values, low + 1e-6)[-1]
    assert log_e_values(-values, -high - 1e-6)[-1] >= -np.log(0.03) > log_e_values(-values, -high + 1e-6)[-1]
    assert low < values.mean() < high


def test_fewer_errors_need_a_wider_interval_and_more_values_a_narrower_one():
    values = draw("skewed", (1, 400))[0]
    assert lower_bound(values, 0.001) < lower_bound(values, 0.01) < lower_bound(values, 0.2) < values.mean()
    widths = [np.ptp(betting_interval(values[:n])) for n in (25, 100, 400)]
    assert widths[0] > 1.5 * widths[1] > 2.2 * widths[2]


def test_no_values_say_nothing():
    assert betting_interval(np.empty(0)) == pytest.approx((-1, 1), abs=1e-9)
    assert growth(np.zeros(9)) == 0


@pytest.mark.parametrize("name", ["skewed", "three"])
def test_the_interval_misses_the_mean_at_any_look_in_at_most_alpha_of_runs(name):
    assert misses(name, 600, 150) <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize("name", MEANS)
def test_the_interval_misses_the_mean_at_any_of_500_looks_in_at_most_alpha_of_10000_runs(name):
    assert misses(name, 10_000, 500) <= 0.05


def test_a_small_difference_with_little_noise_is_found():
    values = np.random.default_rng(0).normal(0.04, 0.05, (200, 300)).clip(-1, 1)
    is_over = log_e_values(values) >= np.log(40)
    assert is_over.any(axis=1).mean() > 0.99
    assert np.median(is_over.argmax(axis=1)) < 150


@pytest.mark.parametrize(("values", "alpha"), [([1.5], 0.05), ([0.5], 0.0), ([0.5], 1.0), ([float("nan")], 0.05)])
def test_bad_inputs(values, alpha):
    with pytest.raises(ValueError, match="must be"):
        lower_bound(values, alpha)
