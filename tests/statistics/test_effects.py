import math

import numpy as np
import pytest

from brittlestar.statistics.effects import Effect, event_effect, paired_effect

RUNS = 400
CHANCE = 4 * math.sqrt(RUNS * 0.05 * 0.95)


def events(rng, rate, spread=0.0, seeds=2, episodes=40) -> tuple[np.ndarray, np.ndarray, float]:
    """Events with and without stress in seeds whose false-alarm rates differ, and the mean excess of these seeds."""
    alarms = np.clip(0.05 * np.exp(0.5 * rng.normal(size=(seeds, 1))), 0, 0.9)
    rates = np.clip(rate + spread * rng.normal(size=(seeds, 1)), 0, 1)
    clean, alarm, hit = (rng.random((seeds, episodes)) < share for share in (alarms, alarms, rates))
    return hit | alarm, clean, float(np.mean(rates * (1 - alarms)))


@pytest.mark.parametrize("seeds", [1, 2, 5])
def test_false_alarms_of_the_event_effect_keep_their_level(rng, seeds):
    rejected = sum(event_effect(*events(rng, 0, seeds=seeds)[:2]).p_value < 0.05 for _ in range(RUNS))
    assert rejected <= 0.05 * RUNS + CHANCE


@pytest.mark.parametrize("spread", [0, 0.1])
@pytest.mark.parametrize("seeds", [1, 2, 5])
def test_interval_of_the_event_effect_covers_the_mean_of_its_seeds(rng, seeds, spread):
    covered = 0
    for _ in range(RUNS):
        stressed, clean, excess = events(rng, 0.4, spread, seeds)
        effect = event_effect(stressed, clean)
        covered += effect.low <= excess <= effect.high
    assert covered >= 0.95 * RUNS - CHANCE


def test_two_seeds_have_power(rng):
    """A collapse in a third of the episodes of two seeds is nearly always found."""
    found = sum(event_effect(*events(rng, 0.35)[:2]).p_value < 0.05 for _ in range(RUNS))
    assert found >= 0.9 * RUNS


def test_another_seed_does_not_weaken_an_obvious_effect():
    """Rates of 97.5, 85 and 92.5 % in 40 episodes: Student's t over the first two seeds gave p = .04."""
    stressed = np.arange(40) < np.array([[39], [34], [37]])
    p_values = [event_effect(stressed[:seeds], np.zeros((seeds, 40))).p_value for seeds in (1, 2, 3)]
    assert max(p_values) < 1e-9


@pytest.mark.parametrize("level", [0.95, 0.99])
def test_interval_excludes_zero_exactly_if_the_test_rejects(rng, level):
    effects: list[Effect] = []
    for _ in range(RUNS):
        stressed, clean, _ = events(rng, rng.uniform(0, 0.3), 0.1, episodes=15)
        effects += [event_effect(stressed, clean, level), paired_effect(stressed, clean, rng, level)]
    rejected = [effect.p_value < 1 - level for effect in effects]
    assert [not effect.low <= 0 <= effect.high for effect in effects] == rejected and 0 < sum(rejected) < len(rejected)


def test_seeds_that_agree_by_chance_do_not_narrow_the_interval():
    effect = event_effect(np.ones((3, 10), dtype=bool), np.zeros((3, 10), dtype=bool))
    assert effect.difference == 1 == effect.high and 0.7 < effect.low < 0.95
    nothing = event_effect(np.zeros((3, 10), dtype=bool), np.zeros((3, 10), dtype=bool))
    assert nothing.p_value == 1 and nothing.low < 0 < nothing.high


def test_an_effect_in_one_of_two_seeds_is_not_decided():
    stressed = np.zeros((2, 50), dtype=bool)
    stressed[0] = True
    one, two = event_effect(stressed.reshape(1, -1), np.zeros((1, 100))), event_effect(stressed, np.zeros((2, 50)))
    assert one.p_value < 1e-6 < 0.3 < two.p_value and two.low < 0 < one.low


def test_paired_effect_of_a_score(rng):
    clean = rng.normal(size=(4, 30))
    effect = paired_effect(clean + 0.5 + 0.1 * rng.normal(size=clean.shape), clean, rng)
    assert effect.low < 0.5 < effect.high and effect.high - effect.low < 0.2 and effect.p_value < 0.01
    with pytest.raises(ValueError, match="the same episodes as with stress"):
        paired_effect(clean, clean[:, :-1], rng)


@pytest.mark.parametrize("seeds", [1, 2, 5])
def test_paired_effect_of_skewed_returns_keeps_its_level_and_covers(rng, seeds):
    rejected = covered = 0
    for _ in range(RUNS):
        means = rng.exponential(size=(seeds, 1))
        a, b = (means + rng.exponential(size=(seeds, 20)) for _ in range(2))
        rejected += paired_effect(a, b, rng).p_value < 0.05
        effect = paired_effect(a - 1, b, rng)
        covered += effect.low <= -1 <= effect.high
    assert rejected <= 0.05 * RUNS + CHANCE and covered >= 0.95 * RUNS - CHANCE
