import numpy as np
import pytest
from gymnasium import spaces

from brittlestar.errors import UserError
from brittlestar.perturbations import DelayedAction, DroppedAction, ResourceConstraint, ScaledAction, StickyAction
from brittlestar.perturbations.base import scheduled_fields
from brittlestar.perturbations.context import Context

BOX = spaces.Box(-1.0, 1.0, (2,), np.float32)
DISCRETE = spaces.Discrete(1000)


def play(part, actions, make_step, space=DISCRETE, **options):
    lanes = actions.shape[1]
    part.bind(space, space, lanes)
    return np.array([part.perturb_action(a, make_step(lanes, step=t, **options)) for t, a in enumerate(actions)])


def count_up(lanes=1, steps=8):
    """Action t + 1 at step t, so that every action identifies its step."""
    return np.arange(1, steps + 1)[:, None].repeat(lanes, 1)


@pytest.mark.parametrize(("default", "expected"), [(None, [0.5, -0.25]), (0.5, [0.75, 0.0])])
def test_a_scaled_action_loses_its_share(default, expected, make_step):
    actions = np.array([[[1.0, -0.5]]], np.float32)
    sent = play(ScaledAction(loss=0.5, default_action=default), actions, make_step, BOX)
    assert sent[0, 0].tolist() == expected


@pytest.mark.parametrize(
    "make",
    [
        lambda p: ScaledAction(loss=p, default_action=7),
        lambda p: DroppedAction(p=p, default_action=7),
        lambda p: DroppedAction(p=p, fill="hold", default_action=7),
        lambda p: StickyAction(p=p),
    ],
)
def test_the_share_of_lost_actions_is_p_and_larger_p_lose_more(make, make_step):
    actions = np.arange(100)[:, None].repeat(200, 1) + 100
    lost = {p: play(make(p), actions, make_step)[1:] != actions[1:] for p in (0.1, 0.4)}
    for p, which in lost.items():
        assert which.mean() == pytest.approx(p, abs=4 * (p * (1 - p) / which.size) ** 0.5)
    assert (lost[0.4] >= lost[0.1]).all()


def test_dropped_actions_are_the_default_or_held(make_step):
    actions = count_up(lanes=3, steps=40)
    zero = play(DroppedAction(p=0.5, default_action=7), actions + 100, make_step)
    lost = zero != actions + 100
    assert set(zero[lost]) == {7}
    held = play(DroppedAction(p=0.5, fill="hold", default_action=7), actions + 100, make_step)
    for lane in range(3):
        last = 7
        for t in range(40):
            last = last if lost[t, lane] else actions[t, lane] + 100
            assert held[t, lane] == last


def test_whole_vectors_are_dropped(make_step):
    sent = play(DroppedAction(p=0.5), np.full((40, 3, 2), 0.5, np.float32), make_step, BOX)
    assert np.array_equal(sent[..., 0], sent[..., 1])
    assert set(np.unique(sent)) == {0.0, 0.5}


def test_sticky_actions_repeat_what_was_sent(make_step):
    actions = count_up(lanes=4, steps=50)
    sent = play(StickyAction(p=0.5), actions, make_step)
    assert (sent[0] == 1).all()
    stuck = sent != actions
    assert stuck[1:].any()
    assert np.array_equal(sent[1:][stuck[1:]], sent[:-1][stuck[1:]])
    assert (play(StickyAction(p=1.0), actions, make_step) == 1).all()


@pytest.mark.parametrize(
    ("delay", "level", "expected"),
    [
        (0, 1.0, [1, 2, 3, 4, 5, 6, 7, 8]),
        (1, 1.0, [9, 1, 2, 3, 4, 5, 6, 7]),
        (3, 1.0, [9, 9, 9, 1, 2, 3, 4, 5]),
        (4, 0.5, [9, 9, 1, 2, 3, 4, 5, 6]),
        (20, 1.0, [9, 9, 9, 9, 9, 9, 9, 9]),
    ],
)
def test_a_delay_is_exact(delay, level, expected, make_step):
    part = DelayedAction(delay_steps=delay, default_action=9)
    assert play(part, count_up(), make_step, level=level)[:, 0].tolist() == expected


def test_lanes_start_their_episodes_at_different_times(make_step):
    part = DelayedAction(delay_steps=2, default_action=9)
    part.bind(DISCRETE, DISCRETE, 2)
    sent = []
    for t, action in enumerate(count_up(lanes=2, steps=6)):
        step = make_step(2, step=t)
        step.first[1] = t in (0, 3)
        sent.append(part.perturb_action(action, step).tolist())
    assert sent == [[9, 9], [9, 9], [1, 1], [2, 9], [3, 9], [4, 4]]


def test_jitter_adds_up_to_its_steps_evenly(make_step):
    actions = count_up(lanes=500, steps=40)
    sent = play(DelayedAction(delay_steps=2, jitter_steps=3), actions, make_step)[10:]
    delays, counts = np.unique(actions[10:] - sent, return_counts=True)
    assert delays.tolist() == [2, 3, 4, 5]
    np.testing.assert_allclose(counts / counts.sum(), 0.25, atol=0.02)


def test_before_an_action_arrives_a_box_sends_zero(make_step):
    sent = play(DelayedAction(delay_steps=1), np.full((2, 1, 2), 0.5, np.float32), make_step, BOX)
    assert sent[:, 0].tolist() == [[0.0, 0.0], [0.5, 0.5]]


def test_a_box_that_excludes_zero_sends_what_is_nearest_to_it(make_step):
    box = spaces.Box(np.float32(2.0), np.float32(3.0), (2,))
    assert (play(DroppedAction(p=1.0), np.full((1, 1, 2), 2.5, np.float32), make_step, box) == 2.0).all()


@pytest.mark.parametrize("part", [DroppedAction(p=1.0), DelayedAction(delay_steps=1), StickyAction(p=1.0)])
def test_several_discrete_actions_at_once(part, make_step):
    space = spaces.MultiDiscrete([3, 4])
    sent = play(part, np.array([[[1, 3]], [[2, 2]]]), make_step, space)
    assert sent[1, 0].tolist() == ([0, 0] if isinstance(part, DroppedAction) else [1, 3])


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (DroppedAction(p=1.0), 7),
        (DroppedAction(p=1.0, default_action=3), 3),
        (ResourceConstraint(scale=1.0, p=1.0), 7),
        (ResourceConstraint(scale=1.0, p=1.0, protocol="compat_1_4"), 0),
    ],
)
def test_the_default_action_of_the_environment_replaces_a_lost_command(part, expected, make_step):
    part.bind(DISCRETE, DISCRETE, 1)
    part.prepare(Context(default_action=7))
    assert part.perturb_action(np.array([5]), make_step(1)).tolist() == [expected]


def test_the_default_of_an_environment_must_be_an_action():
    part = DroppedAction(p=1.0)
    part.bind(DISCRETE, DISCRETE, 1)
    with pytest.raises(UserError, match=r"`env\.default_action` must be an action of Discrete\(1000\), got 1000"):
        part.prepare(Context(default_action=1000))


@pytest.mark.parametrize(("seconds", "steps"), [(0.02, 1), (0.021, 2), (0.3, 15), (0.001, 1)])
def test_a_delay_in_seconds_waits_for_the_next_step_of_the_clock(seconds, steps, make_step):
    part, actions = DelayedAction(delay_steps=9, delay_seconds=seconds), count_up(steps=40)
    part.bind(DISCRETE, DISCRETE, 1)
    part.prepare(Context(step_seconds=0.02))
    sent = np.array([part.perturb_action(a, make_step(1, step=t)) for t, a in enumerate(actions)])
    assert sent[:, 0].tolist() == [0] * steps + actions[: 40 - steps, 0].tolist()
    assert (part.strength_field, part.strength, part.scaled(2.0).strength) == ("delay_seconds", seconds, 2 * seconds)


def test_a_delay_in_seconds_needs_a_clock_and_is_no_number_below_0(make_step):
    part = DelayedAction(delay_steps=1, delay_seconds=0.1)
    part.bind(DISCRETE, DISCRETE, 1)
    with pytest.raises(UserError, match="`delay_seconds`: the time of a step of this environment is not known"):
        part.prepare(Context())
    with pytest.raises(ValueError, match="`delay_seconds` must be at least 0, got -1"):
        DelayedAction(delay_steps=1, delay_seconds=-1)
    assert DelayedAction(delay_steps=1, delay_seconds=0.0).is_identity


@pytest.mark.parametrize(
    ("fields", "limit", "message"),
    [
        ({"delay_steps": 1, "delay_seconds": 1e9}, 50, "`delay_seconds` must be at most 2000 s .*, got 1000000000.0"),
        ({"delay_steps": 10**9}, None, "`delay_steps` must be at most 100000 .*, got 1000000000"),
        ({"delay_steps": 10**9}, 200_000, "`delay_steps` must be at most 200000 .*, got 1000000000"),
        ({"delay_steps": 1, "jitter_steps": 10**9}, 50, "`jitter_steps` must be at most 100000, got 1000000000"),
    ],
)  # fmt: skip
def test_a_delay_that_no_episode_ends_is_refused_before_memory_is_allocated(fields, limit, message):
    part = DelayedAction(**fields)
    part.bind(DISCRETE, DISCRETE, 1)
    with pytest.raises(UserError, match=message):
        part.prepare(Context(step_seconds=0.02, max_steps=limit))


def test_a_schedule_scales_the_seconds_and_cannot_name_the_steps(make_step):
    part = DelayedAction(delay_steps=9, delay_seconds=0.1)
    part.bind(DISCRETE, DISCRETE, 1)
    part.prepare(Context(step_seconds=0.02))
    sent = np.array([part.perturb_action(a, make_step(1, step=t, level=0.5)) for t, a in enumerate(count_up())])
    assert sent[:, 0].tolist() == [0, 0, 0, 1, 2, 3, 4, 5]
    with pytest.raises(UserError, match="has no number 'delay_steps'"):
        scheduled_fields(part, "delay_steps")
