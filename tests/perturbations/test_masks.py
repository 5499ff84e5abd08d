import numpy as np

from brittlestar.perturbations.masks import channel_mask
from brittlestar.randomness import LaneDraws


def test_one_ratio_and_a_ratio_for_each_lane_mask_the_same():
    for ratio in (0.0, 0.2, 0.5, 1.0):
        one, each = (channel_mask(LaneDraws(0, "mask", 6), 17, r) for r in (ratio, np.full((6, 1), ratio)))
        assert np.array_equal(one, each)
        assert (one.sum(axis=1) == int(17 * ratio)).all()
