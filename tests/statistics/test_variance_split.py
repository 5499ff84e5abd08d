import math

import numpy as np
import pytest

from brittlestar.statistics.variance_split import split_variance


def simulate(mean: float, spread: float, trainings: int, repeats: int = 300) -> list:
    """Splits of simulated trainings: a rate each, by a beta distribution, and events in 40 episodes."""
    rng = np.random.default_rng(0)
    a = mean * (mean * (1 - mean) / spread**2 - 1) if spread else 0.0
    splits = []
    for _ in range(repeats):
        rates = rng.beta(a, a * (1 - mean) / mean, trainings) if spread else np.full(trainings, mean)
        splits.append(split_variance([rng.random(40) < rate for rate in rates]))
    return splits


def test_both_variances_are_found_in_simulated_trainings():
    splits = simulate(mean=0.5, spread=0.2, trainings=5)
    assert np.mean([split.between**2 for split in splits]) == pytest.approx(0.2**2, rel=0.1)
    within = (0.5 * 0.5 - 0.2**2) / 40
    assert np.mean([split.within**2 for split in splits]) == pytest.approx(within, rel=0.05)


@pytest.mark.parametrize("trainings", [3, 5])
@pytest.mark.parametrize(("mean", "spread"), [(0.5, 0.1), (0.5, 0.25), (0.2, 0.1)])
def test_the_interval_covers_the_spread_of_trainings(mean, spread, trainings):
    splits = simulate(mean, spread, trainings)
    assert np.mean([split.between_low <= spread <= split.between_high for split in splits]) > 0.9


def test_trainings_that_do_not_differ_rarely_seem_to():
    splits = simulate(mean=0.5, spread=0.0, trainings=5)
    assert np.mean([split.between_low > 0 for split in splits]) < 0.05


def test_groups_of_other_sizes_count_by_their_own():
    groups = [[0, 1], [0, 1, 0, 1, 0, 1], [1, 1, 0, 0]]
    inside = (0.5 + 1.5 + 1.0) / 9
    assert split_variance(groups).within == pytest.approx(math.sqrt(inside * (1 / 2 + 1 / 6 + 1 / 4) / 3))
    assert split_variance(groups).between == 0


def test_equal_outcomes_give_no_upper_bound():
    split = split_variance([[1, 1, 1], [1, 1, 1]])
    assert (split.between, split.between_low, split.within) == (0, 0, 0) and math.isnan(split.between_high)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([[0, 1]], "`groups` must be at least 2, got 1"),
        ([[0, 1], [1]], "`members of a group` must be at least 2"),
    ],
)
def test_too_few_are_refused(groups, message):
    with pytest.raises(ValueError, match=message):
        split_variance(groups)


def test_estimate_and_interval_are_at_most_what_groups_can_have():
    split = split_variance([[0.0] * 40, [1.0] * 39 + [0.0], [1.0] * 40], most=0.5)
    assert split.between_low < split.between == split.between_high == 0.5
