import numpy as np
import pytest

from brittlestar.perturbations.delays import LaneRing

STEPS, LANES, LENGTH = 60, 5, 4


@pytest.fixture
def episodes():
    """Random values `(steps, lanes, 2)`, and where episodes start."""
    rng = np.random.default_rng(0)
    first = rng.random((STEPS, LANES)) < 0.15
    first[0] = True
    return rng.standard_normal((STEPS, LANES, 2)), first, rng.integers(LENGTH, size=(STEPS, LANES))


def history(values, first, lane, now):
    """The values of the running episode of a lane, newest first."""
    start = max(step for step in range(now + 1) if first[step, lane])
    return values[start : now + 1, lane][::-1]


def test_a_lane_sees_the_past_of_its_own_episode(episodes):
    values, first, delays = episodes
    ring = LaneRing(LENGTH, fill=-7.0)
    for now in range(STEPS):
        ring.push(values[now], first[now])
        past, newest_first = ring.past(delays[now]), ring.newest_first()
        for lane in range(LANES):
            seen = history(values, first, lane, now)
            expected = [seen[age] if age < len(seen) else np.full(2, -7.0) for age in range(LENGTH)]
            assert ring.age[lane] == len(seen) - 1
            assert np.array_equal(past[lane], expected[delays[now, lane]])
            assert np.array_equal([array[lane] for array in newest_first], expected)


def test_sums_arrive_when_they_are_due_and_end_with_the_episode(episodes):
    values, first, delays = episodes
    ring, due = LaneRing(LENGTH), np.zeros((STEPS + LENGTH, LANES))
    for now in range(STEPS):
        due[now:, first[now]] = 0.0
        due[now + delays[now], np.arange(LANES)] += values[now, :, 0]
        np.testing.assert_array_equal(ring.add(values[now, :, 0], delays[now], first[now]), due[now])


def test_arrays_keep_the_dtype_of_the_first_one_or_the_stated_one():
    for dtype, expected in ((None, np.uint8), (np.int64, np.int64)):
        ring = LaneRing(2, dtype=dtype)
        ring.push(np.full((1, 3), 255, np.uint8), np.array([True]))
        assert ring.past(np.array([0])).dtype == expected
