"""Jerk and velocity of actions are those of numpy, lane by lane, whatever ran in a lane before."""

import numpy as np
import pytest

from brittlestar.engine.motion import Jerk


def expected(actions):
    jerks, velocities = np.diff(actions, n=3, axis=0), np.diff(actions, axis=0)
    return np.sqrt((jerks**2).mean()) if jerks.size else np.nan, velocities.var() if velocities.size else np.nan


@pytest.mark.parametrize("length", [1, 2, 3, 4, 5, 40])
def test_values_are_those_of_whole_episodes(length):
    rng = np.random.default_rng(length)
    jerk = Jerk(lanes=2, size=3)
    for _ in range(2):
        episodes = rng.normal(size=(2, length, 3)).astype(np.float32)
        for lane in range(2):
            jerk.begin(lane)
        for step in range(length):
            jerk.update(episodes[:, step], np.full(2, step))
        for lane in range(2):
            np.testing.assert_allclose(jerk.values(lane, length), expected(episodes[lane].astype(float)), atol=1e-12)


def test_lanes_start_at_different_times():
    rng = np.random.default_rng(0)
    actions, jerk = rng.normal(size=(12, 2, 1)), Jerk(lanes=2, size=1)
    for step in range(12):
        if step == 5:
            jerk.begin(1)
        jerk.update(actions[step], np.array([step, step - 5 if step >= 5 else step]))
    np.testing.assert_allclose(jerk.values(0, 12), expected(actions[:, 0]), atol=1e-12)
    np.testing.assert_allclose(jerk.values(1, 7), expected(actions[5:, 1]), atol=1e-12)


def test_constant_velocity_has_neither_jerk_nor_variance():
    jerk = Jerk(lanes=1, size=1)
    for step in range(6):
        jerk.update(np.array([[0.25 * step]]), np.array([step]))
    assert jerk.values(0, 6) == (0.0, 0.0)
