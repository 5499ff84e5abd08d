from __future__ import annotations

import math

import numpy as np
import pytest

from brittlestar.statistics.effects import event_effect, paired_effect


def test_interval_of_the_event_effect_covers(rng):
    """Paired events whose rates differ between seeds: 95 % intervals hold the true difference."""
    covered = rejected = 0
    for _ in range(400):
        clean = rng.random((5, 40)) < 0.05
        rates = np.clip(0.4 + 0.1 * rng.normal(size=(5, 1)), 0, 1)
        effect = event_effect(clean | (rng.random((5, 40)) < rates), clean)
        covered += effect.low <= 0.4 * 0.95 <= effect.high
        rejected += event_effect(rng.random((5, 40)) < 0.05, clean).p_value < 0.05
    assert covered >= 0.95 * 400 - 4 * math.sqrt(400 * 0.05 * 0.95)
    assert rejected <= 0.05 * 400 + 4 * math.sqrt(400 * 0.05 * 0.95)


def test_seeds_that_agree_by_chance_do_not_narrow_the_interval():
    effect = event_effect(np.ones((3, 10), dtype=bool), np.zeros((3, 10), dtype=bool))
    assert effect.difference == 1 == effect.high and 0.7 < effect.low < 0.95
    nothing = event_effect(np.zeros((3, 10), dtype=bool), np.zeros((3, 10), dtype=bool))
    assert nothing.p_value == 1 and nothing.low < 0 < nothing.high


def test_seeds_that_differ_widen_it():
    stressed = np.zeros((2, 50), dtype=bool)
    stressed[0] = True
    one, two = event_effect(stressed.reshape(1, -1), np.zeros((1, 100))), event_effect(stressed, np.zeros((2, 50)))
    assert one.p_value < 1e-6 < 0.3 < two.p_value and two.low == -1 < 0 < one.low


def test_paired_effect_of_a_score(rng):
    clean = rng.normal(size=(4, 30))
    effect = paired_effect(clean + 0.5 + 0.1 * rng.normal(size=clean.shape), clean, rng)
    assert effect.low < 0.5 < effect.high and effect.high - effect.low < 0.2 and effect.p_value < 0.01
    with pytest.raises(ValueError, match="the same episodes as with stress"):
        paired_effect(clean, clean[:, :-1], rng)
