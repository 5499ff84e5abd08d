import numpy as np
import pytest
from gymnasium import spaces

from brittlestar.perturbations import DelayedObservation, HoldObservation, StuckObservation
from brittlestar.perturbations.delays import LaneRing

CLOCK = np.broadcast_to(np.arange(40.0)[:, None, None], (40, 300, 4)).copy()
"""Every number is its step."""
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


@pytest.mark.parametrize("delay", [1, 3, 60])
def test_the_delay_is_exact_and_the_first_observation_is_held(delay, play):
    expected = np.maximum(CLOCK - delay, 0)
    assert np.array_equal(play(DelayedObservation(delay_steps=delay), CLOCK), expected)


def test_jitter_adds_up_to_so_many_steps_all_equally_likely(play):
    ages = (CLOCK - play(DelayedObservation(delay_steps=2, jitter_steps=3), CLOCK))[5:]
    assert np.array_equal(ages, np.broadcast_to(ages[..., :1], ages.shape)), "one message has one delay"
    values, counts = np.unique(ages[..., 0], return_counts=True)
    assert values.tolist() == [2, 3, 4, 5]
    np.testing.assert_allclose(counts / counts.sum(), 0.25, atol=0.02)


def test_entries_of_a_dict_come_in_one_message(make_step):
    box = spaces.Box(-np.inf, np.inf, (4,))
    late = DelayedObservation(delay_steps=1, jitter_steps=5, keys=["a", "b"])
    late.bind(spaces.Dict({"a": box, "b": box}), box, lanes=300)
    for t in range(10):
        seen = late.perturb_observation({"a": CLOCK[t], "b": CLOCK[t] + 100}, make_step(lanes=300, step=t))
        assert np.array_equal(seen["a"], seen["b"] - 100)
    assert len(np.unique(seen["a"])) > 3


def test_a_scheduled_delay_is_rounded(play):
    level = np.where(np.arange(40) < 10, 0.0, np.where(np.arange(40) < 20, 0.4, 1.0))
    ages = (CLOCK - play(DelayedObservation(delay_steps=4), CLOCK, level=level))[:, 0, 0]
    assert ages.tolist() == [0] * 10 + [2] * 10 + [4] * 20


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (DelayedObservation(delay_steps=2), [0, 0, 0, 1, 2]),
        (HoldObservation(p=1.0, hold_steps=9), [0, 0, 0, 0, 0]),
        (StuckObservation(p=1.0, within_steps=1), [0, 0, 0, 0, 0]),
    ],
)
@pytest.mark.parametrize("space", [spaces.Discrete(9), spaces.MultiDiscrete([9, 9])])
def test_states_are_late_held_and_stuck_like_numbers(part, expected, space, make_step):
    part.bind(space, space, lanes=2)
    seen = [part.perturb_observation(np.full((2, *space.shape), t), make_step(2, step=t)) for t in range(5)]
    assert [set(array.ravel().tolist()) for array in seen] == [{state} for state in expected]
    assert all(array.dtype == np.int64 and array.shape == (2, *space.shape) for array in seen)


def test_a_held_number_keeps_its_last_value(play):
    seen = play(HoldObservation(p=0.05, hold_steps=3), CLOCK)
    held = seen != CLOCK
    assert not held[0].any()
    assert np.array_equal(seen[1:][held[1:]], seen[:-1][held[1:]])
    begins = held[1:-3] & ~held[:-4]
    assert begins.any()
    for later in (2, 3):
        assert held[later : later - 4 or None][: len(begins)][begins].all(), "at least three steps"
    ages = (CLOCK - seen)[held]
    assert np.mean(ages > 3) < np.mean(ages <= 3), "longer ones need a second drop-out"


@pytest.mark.parametrize(("p", "steps"), [(0.1, 1), (0.1, 5), (0.5, 2)])
def test_the_share_of_held_numbers(p, steps, play):
    held = (play(HoldObservation(p=p, hold_steps=steps), CLOCK) != CLOCK)[10:]
    assert held.mean() == pytest.approx(1 - (1 - p) ** steps, rel=0.05)


def test_a_stuck_number_keeps_the_value_it_had_for_the_rest_of_the_episode(play):
    seen = play(StuckObservation(p=0.3, within_steps=20), CLOCK)
    last = seen[-1]
    assert np.array_equal(seen, np.minimum(CLOCK, last)), "the truth, then one value"
    frozen = last != CLOCK[-1]
    assert frozen.mean() == pytest.approx(0.3, abs=0.06)
    onsets, counts = np.unique(last[frozen], return_counts=True)
    assert onsets.tolist() == list(range(20))
    assert counts.max() < 3 * counts.min(), "all equally likely"


def test_a_stuck_number_stays_stuck_where_the_level_falls(play):
    seen = play(StuckObservation(p=1.0, within_steps=1), CLOCK, level=np.arange(40) < 5)
    assert not seen.any()


@pytest.mark.parametrize(
    ("kind", "bad", "message"),
    [
        (DelayedObservation, {"delay_steps": -1}, "`delay_steps` must be a whole number, at least 0, got -1"),
        (DelayedObservation, {"delay_steps": 1, "jitter_steps": -2}, "`jitter_steps` must be a whole .* got -2"),
        (HoldObservation, {"p": -0.1}, r"`p` must be in \[0, 1\], got -0\.1"),
        (HoldObservation, {"p": 0.1, "hold_steps": 0}, "`hold_steps` must be at least 1, got 0"),
        (StuckObservation, {"p": 2}, r"`p` must be in \[0, 1\], got 2"),
        (StuckObservation, {"p": 0.1, "within_steps": 0}, "`within_steps` must be at least 1, got 0"),
    ],
)
def test_bad_parameters(kind, bad, message):
    with pytest.raises(ValueError, match=message):
        kind(**bad)
