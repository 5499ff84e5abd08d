"""Plays sequences through a mitigation, as a rollout does."""

from itertools import pairwise

import numpy as np
import pytest
from gymnasium import spaces

from brittlestar.perturbations import Step
from brittlestar.randomness import LaneDraws


def _lane_steps(firsts):
    steps, now = [], np.zeros(firsts.shape[1], dtype=np.int64)
    for first in firsts:
        now = np.where(first, 0, now + 1)
        steps.append(now)
    return steps


def play(mitigation, values, channel, firsts=None, space=None):
    """Returns the output of each step; `values` are `(steps, lanes, ...)`, or dicts of arrays per step."""
    arrays = [next(iter(value.values())) if isinstance(value, dict) else value for value in values]
    lanes, shape = len(arrays[0]), arrays[0].shape[1:]
    if firsts is None:
        firsts = np.arange(len(arrays))[:, None].repeat(lanes, axis=1) == 0
    box = spaces.Box(-1.0, 1.0, shape, np.float32) if space is None else space
    mitigation.bind(box, box, lanes)
    draws, out = LaneDraws(0, "mitigation", lanes), []
    for value, first, steps in zip(values, firsts, _lane_steps(firsts), strict=True):
        draws.at(np.arange(lanes), steps)
        out.append(getattr(mitigation, f"mitigate_{channel}")(value, Step(np.ones(lanes), first, draws)))
    return out


@pytest.fixture(name="play")
def play_fixture():
    return play


@pytest.fixture
def play_one():
    """The same for one number of one lane; `starts` are the steps at which an episode starts."""

    def run(mitigation, numbers, channel, starts=(0,), dtype=np.float32, **options):
        values = np.asarray(numbers, dtype)[:, None, None]
        firsts = np.isin(np.arange(len(values)), starts)[:, None]
        return [out.item() for out in play(mitigation, values, channel, firsts, **options)]

    return run


@pytest.fixture
def check_lanes():
    """Plays random episodes of many lanes; each lane alone must give the same bits, and a start must drop the past."""

    def check(mitigation, channel, shape=(3,), dtypes=(np.float32, np.float64), **options):
        rng, (steps, lanes) = np.random.default_rng(0), (40, 7)
        numbers = rng.integers(4, size=(steps, lanes, *shape)) * rng.standard_normal((steps, lanes, *shape))
        firsts = rng.random((steps, lanes)) < 0.1
        firsts[0] = True
        for values in map(numbers.astype, dtypes):
            together = np.array(play(mitigation, values, channel, firsts, **options))
            assert together.dtype == values.dtype
            assert together.shape == values.shape
            for lane in range(lanes):
                for begin, end in pairwise([*np.flatnonzero(firsts[:, lane]), steps]):
                    alone = play(mitigation, values[begin:end, lane : lane + 1], channel, **options)
                    assert np.array(alone)[:, 0].tobytes() == together[begin:end, lane].tobytes()

    return check
