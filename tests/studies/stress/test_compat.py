"""The published scores where the golden files do not reach: vectors, short phases, no variance."""

import numpy as np
import pytest

from brittlestar.studies.stress import compat


def test_weights_favour_steady_channels(rng):
    channels = np.column_stack([0.5 + spread * rng.normal(size=500) for spread in (0.4, 0.1, 0.1, 0.1, 0.0)])
    got = compat.weights(channels)
    assert got.sum() == pytest.approx(1) and got[0] < got[1] < got[4]
    # The steadiest is held back by the floor, a quarter of the median: twice the weight of the median channel.
    assert got[4] / np.median(got[1:4]) == pytest.approx(2, rel=0.05)


def test_meaning_with_spread_is_clipped_at_zero_in_calibration_only():
    norm = compat.Norm(0.5, np.array([0.9, 0.0, 0.8]), np.array([0.0, 0.0, 0.1]), np.zeros(5))
    signs = np.array([[0.9, 0.0, 1.0]])
    assert compat.raw_1_4(norm, signs, True) == pytest.approx(0)
    assert compat.raw_1_4(norm, signs, False) == pytest.approx(0.2 / 0.14826, rel=1e-5)


def test_a_gain_of_the_shock_as_a_whole_is_no_drop_in_1_0_only():
    norm = compat.Norm(0.5, np.array([0.9, 0.02, 1.0]), np.array([0.1, 0.1, 0.0]), np.zeros(5))
    gain, none = np.array([[0.9, -0.3, 1.0]]), np.array([[0.9, 0.0, 1.0]])
    assert compat.raw_1_0(norm, gain, False) == compat.raw_1_0(norm, none, False)
    assert compat.raw_1_4(norm, gain, False) > compat.raw_1_4(norm, none, False)
