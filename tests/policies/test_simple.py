import numpy as np
import pytest
from gymnasium import spaces
from samples import PUSH, SEEN, bound, draws_at

from brittlestar.errors import UserError
from brittlestar.policies.simple import ConstantPolicy, RandomPolicy


def random_actions(action_space, **where):
    policy = RandomPolicy()
    policy.bind(SEEN, action_space, draws_at(**where))
    return policy.predict(np.zeros((200, 3)))[0]


BOUNDED = spaces.Box(np.array([-2.0, 0.0], np.float32), np.array([-1.0, 5.0], np.float32))
HALF = spaces.Box(np.array([-np.inf, 1.0, -np.inf]), np.array([np.inf, np.inf, 2.0]), dtype=np.float64)


@pytest.mark.parametrize(
    "space",
    [
        BOUNDED,
        HALF,
        spaces.Box(0, 3, (2, 2), np.uint8),
        spaces.Discrete(3, start=-1),
        spaces.MultiDiscrete([2, 5], start=[0, 10]),
        spaces.MultiBinary((2, 2)),
    ],
    ids=str,
)
def test_random_actions_lie_in_the_space_and_fill_it(space):
    actions = random_actions(space)
    assert actions.shape == (200, *space.shape)
    assert actions.dtype == space.dtype
    assert all(space.contains(action) for action in actions)
    if actions.dtype.kind in "iu":
        lowest, highest = actions.min(axis=0), actions.max(axis=0)
        assert (highest - lowest >= 1).all()


def test_random_discrete_actions_are_uniform():
    counts = np.bincount(random_actions(spaces.Discrete(4)), minlength=4)
    assert (counts > 25).all()


def test_random_numbers_without_bounds_are_standard_normal():
    actions = random_actions(spaces.Box(-np.inf, np.inf, (10,)))
    assert abs(actions.mean()) < 0.1
    assert abs(actions.std() - 1.0) < 0.1


def test_random_actions_depend_on_seed_and_step_alone():
    assert np.array_equal(random_actions(PUSH), random_actions(PUSH))
    assert not np.array_equal(random_actions(PUSH), random_actions(PUSH, seed=1))
    assert not np.array_equal(random_actions(PUSH), random_actions(PUSH, step=1))


def test_random_actions_do_not_depend_on_the_number_of_lanes():
    assert np.array_equal(random_actions(PUSH, lanes=200)[:5], random_actions(PUSH, lanes=5))


def test_random_refuses_text():
    with pytest.raises(UserError, match="random_policy cannot draw actions from Text"):
        random_actions(spaces.Text(3))


@pytest.mark.parametrize(
    ("action", "space", "expected"),
    [
        (0.5, PUSH, [0.5, 0.5]),
        ([0.5, -1.0], PUSH, [0.5, -1.0]),
        (2, spaces.Discrete(3), 2),
        (2.0, spaces.Discrete(3), 2),
        ([1, 0], spaces.MultiDiscrete([2, 2]), [1, 0]),
        (1, spaces.MultiBinary(3), [1, 1, 1]),
    ],
)
def test_constant(action, space, expected):
    actions = bound(ConstantPolicy(action), SEEN, space, lanes=2).predict(np.zeros((2, 3)))[0]
    assert actions.dtype == space.dtype
    assert actions.tolist() == [expected, expected]


@pytest.mark.parametrize(
    ("action", "space", "message"),
    [
        (2.0, PUSH, r"`action` must lie in Box\(-1.0, 1.0, \(2,\), float32\), got 2.0"),
        ([0.0, 0.0, 0.0], PUSH, r"one number or fit Box\(2,\), got \[0.0, 0.0, 0.0\]"),
        (3, spaces.Discrete(3), r"must lie in Discrete\(3\), got 3"),
        (0.5, spaces.Discrete(3), r"must lie in Discrete\(3\), got 0.5"),
        (float("nan"), spaces.Discrete(3), r"must lie in Discrete\(3\), got nan"),
        (300, spaces.Box(0, 255, (1,), np.uint8), "got 300"),
        (0.0, spaces.Dict({"a": PUSH}), r"one number or fit Dict\(a: Box\(2,\)\)"),
    ],
)
def test_constant_refuses_actions_out_of_the_space(action, space, message):
    with pytest.raises(UserError, match=message):
        bound(ConstantPolicy(action), SEEN, space, lanes=2)
