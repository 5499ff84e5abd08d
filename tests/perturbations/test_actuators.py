import numpy as np
import pytest
from gymnasium import spaces

from brittlestar.errors import UserError
from brittlestar.perturbations import (
    BacklashAction,
    BiasAction,
    DeadBandAction,
    GaussianAction,
    SaturatedAction,
    UniformAction,
)

BOX = spaces.Box(-1.0, 1.0, (4,), np.float64)
WIDE = spaces.Box(-9.0, 9.0, (4,), np.float64)


def bound(part, space=BOX, lanes=3):
    part.bind(space, space, lanes)
    return part


def test_uniform_noise_is_width_times_level_times_a_fixed_draw(make_step):
    draw = 2 * make_step().draws.uniform((4,)) - 1
    for width, level in [(0.2, 1.0), (0.8, 1.0), (0.8, 0.25)]:
        sent = bound(UniformAction(width=width)).perturb_action(np.zeros((3, 4)), make_step(level=level))
        np.testing.assert_allclose(sent, level * width * draw, rtol=1e-12)


def test_uniform_noise_has_the_variance_of_its_width(make_step):
    sent = bound(UniformAction(width=0.6), lanes=5000).perturb_action(np.zeros((5000, 4)), make_step(5000))
    assert np.abs(sent).max() <= 0.6
    assert sent.mean() == pytest.approx(0, abs=4 * 0.35 / 20000**0.5)
    assert sent.var() == pytest.approx(0.6**2 / 3, rel=0.03)


def test_bias_is_added_and_clipped(make_step):
    action = np.array([[0.0, 0.5, -0.5, 0.9]] * 3)
    sent = bound(BiasAction(bias=0.25, draw="fixed")).perturb_action(action, make_step())
    np.testing.assert_allclose(sent[0], [0.25, 0.75, -0.25, 1.0])
    sent = bound(BiasAction(bias=0.25, draw="fixed", weights=[0, 1, 2, -1])).perturb_action(action, make_step())
    np.testing.assert_allclose(sent[0], [0.0, 0.75, 0.0, 0.65])


def test_a_drawn_bias_stays_for_an_episode_and_is_normal(make_step):
    part = bound(BiasAction(bias=0.5), WIDE, lanes=5000)
    first, later = (part.perturb_action(np.zeros((5000, 4)), make_step(5000, step=t)) for t in (0, 17))
    assert np.array_equal(first, later)
    assert first.std() == pytest.approx(0.5, rel=0.02)
    assert np.corrcoef(first.T)[0, 1] == pytest.approx(0, abs=0.06)


def test_every_actuator_has_a_weight():
    with pytest.raises(UserError, match=r"`weights` must be 4 numbers, one per actuator, got \[1, 2\]"):
        bound(BiasAction(bias=1.0, weights=[1, 2]))


@pytest.mark.parametrize(
    ("offset", "level", "expected"),
    [
        (False, 1.0, [0.0, 0.0, -0.75, 1.0]),
        (True, 1.0, [0.0, 0.0, -0.25, 0.5]),
        (False, 0.25, [0.0, 0.25, -0.75, 1.0]),
        (True, 0.25, [0.0, 0.125, -0.625, 0.875]),
    ],
)
def test_dead_band(offset, level, expected, make_step):
    action = np.array([[0.125, 0.25, -0.75, 1.0]] * 3)
    sent = bound(DeadBandAction(width=0.5, offset=offset)).perturb_action(action, make_step(level=level))
    np.testing.assert_array_equal(sent, [expected] * 3)


def test_backlash_follows_a_hand_written_table(make_step):
    # With a gap of 0.4, the output follows the input at a distance of 0.2, and rests while the input crosses the gap.
    commanded = [0.1, 0.5, 1.0, 0.8, 0.6, 0.5, 0.0, -0.1, 0.2, 0.5, -1.0]
    expected = [0.0, 0.3, 0.8, 0.8, 0.8, 0.7, 0.2, 0.1, 0.1, 0.3, -0.8]
    play = bound(BacklashAction(width=0.4), lanes=1)
    sent = [play.perturb_action(np.full((1, 4), a), make_step(1, step=t))[0] for t, a in enumerate(commanded)]
    np.testing.assert_allclose(sent, np.array(expected)[:, None].repeat(4, 1), atol=1e-12)


def test_backlash_lets_each_actuator_and_lane_rest_where_it_is(make_step):
    play = bound(BacklashAction(width=0.4), lanes=2)
    play.perturb_action(np.array([[1.0, 0.0, 0.5, -1.0]] * 2), make_step(2))
    step = make_step(2, step=1)
    step.first[1] = True
    sent = play.perturb_action(np.full((2, 4), 0.5), step)
    np.testing.assert_allclose(sent, [[0.7, 0.3, 0.3, 0.3], [0.3] * 4])


@pytest.mark.parametrize(("loss", "expected"), [(0.5, [-0.5, 0.25, 1.5, 0.5]), (1.0, [0.0, 0.0, 1.0, 0.0])])
def test_bounds_shrink_towards_the_action_nearest_to_zero(loss, expected, make_step):
    box = spaces.Box(np.array([-1.0, -1.0, 1.0, 0.0]), np.array([1.0, 1.0, 2.0, 1.0]), dtype=np.float64)
    sent = bound(SaturatedAction(loss=loss), box).perturb_action(np.array([[-1.0, 0.25, 2.0, 0.75]] * 3), make_step())
    np.testing.assert_array_equal(sent, [expected] * 3)


BOX = spaces.Box(-1.0, 1.0, (4,), np.float32)


def test_action_noise_is_added_and_clipped(make_step):
    noise = GaussianAction(sigma=0.7)
    noise.bind(BOX, BOX, lanes=3)
    action = np.full((3, 4), 0.9, np.float32)
    sent = noise.perturb_action(action, make_step())
    np.testing.assert_allclose(sent, np.clip(action + 0.7 * make_step().draws.normal((4,)), -1, 1), rtol=1e-6)
    assert sent.max() == 1.0
