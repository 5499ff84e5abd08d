import numpy as np
import pytest
from gymnasium import spaces

from brittlestar.errors import UserError
from brittlestar.mitigations import ClipAction, HoldAction, LowPass, MovingAverageAction, RateLimitAction

BOX = spaces.Box(-1.0, 1.0, (1,), np.float32)
FILTERS = [
    LowPass(alpha=0.3),
    MovingAverageAction(window=9),
    RateLimitAction(max_change=0.3),
    HoldAction(steps=3),
    ClipAction(fraction=0.4),
]


@pytest.mark.parametrize(
    ("mitigation", "actions", "expected"),
    [
        (LowPass(alpha=0.5), [1, 0, 0], [1, 0.5, 0.25]),
        (LowPass(alpha=0.25), [0, 1, 1], [0, 0.25, 0.4375]),
        # The state is not clipped: 3 counts as 3, although 1 is sent.
        (LowPass(alpha=0.5), [3, -1, -1], [1, 1, 0]),
        (MovingAverageAction(window=2), [1, 0, -1, -1], [1, 0.5, -0.5, -1]),
        (MovingAverageAction(window=3), [0.6, 0, 0, 0, 0.9], [0.6, 0.3, 0.2, 0, 0.3]),
        (MovingAverageAction(window=2), [3, -2, 0], [1, 0.5, -1]),
        (RateLimitAction(max_change=0.25), [0.5, 1, 1, 0.9], [0.5, 0.75, 1, 0.9]),
        (RateLimitAction(max_change=0.25), [0, -1, 1], [0, -0.25, 0]),
        # An action out of bounds counts as the bound, so that the return starts at once.
        (RateLimitAction(max_change=0.5), [9, 9, -9], [1, 1, 0.5]),
        (HoldAction(steps=2), [0.1, 0.2, 0.3, 0.4, 0.5], [0.1, 0.1, 0.3, 0.3, 0.5]),
        (HoldAction(steps=3), [0.1, 0.2, 0.3, 0.4], [0.1, 0.1, 0.1, 0.4]),
        (ClipAction(fraction=0.5), [1, 0.3, -0.7], [0.5, 0.3, -0.5]),
    ],
)
def test_table(mitigation, actions, expected, play_one):
    np.testing.assert_allclose(play_one(mitigation, actions, "action"), expected, atol=1e-6)


@pytest.mark.parametrize(
    "mitigation",
    [
        LowPass(alpha=1.0),
        MovingAverageAction(window=1),
        RateLimitAction(max_change=float("inf")),
        HoldAction(steps=1),
        ClipAction(fraction=1.0),
    ],
)
def test_identity(mitigation, play):
    actions = np.random.default_rng(0).uniform(-1, 1, (20, 3, 4)).astype(np.float32)
    assert np.array(play(mitigation, actions, "action")).tobytes() == actions.tobytes()


@pytest.mark.parametrize("mitigation", FILTERS)
@pytest.mark.parametrize("shape", [(1,), (3,), (2, 2)])
def test_lanes_are_independent_and_episodes_forget(mitigation, shape, check_lanes):
    check_lanes(mitigation, "action", shape)


def test_held_actions_may_be_of_any_kind(check_lanes):
    check_lanes(HoldAction(steps=3), "action", (), dtypes=[np.int64], space=spaces.Discrete(4))
    check_lanes(HoldAction(steps=2), "action", (2,), dtypes=[np.int64], space=spaces.MultiDiscrete([4, 4]))


def test_a_new_episode_starts_without_a_past(play_one):
    assert play_one(LowPass(alpha=0.5), [1, 0, 0.2], "action", starts=[0, 2]) == pytest.approx([1, 0.5, 0.2])
    assert play_one(HoldAction(steps=3), [1, 2, 3, 4, 5], "action", starts=[0, 2], dtype=np.int64) == [1, 1, 3, 3, 3]


def test_narrow_bounds_keep_the_middle_of_each_number(play):
    space = spaces.Box(np.array([0.0, -4.0]), np.array([2.0, -2.0]), dtype=np.float64)
    sent = play(ClipAction(fraction=0.5), np.array([[[-9.0, 9.0]], [[9.0, -9.0]]]), "action", space=space)
    assert [row.tolist() for row in sent] == [[[0.5, -2.5]], [[1.5, -3.5]]]


@pytest.mark.parametrize("mitigation", [f for f in FILTERS if not isinstance(f, HoldAction)])
def test_discrete_actions_are_refused(mitigation):
    with pytest.raises(UserError, match=rf"{type(mitigation).__name__} needs a Box action space.*, got Discrete\(2\)"):
        mitigation.bind(BOX, spaces.Discrete(2), lanes=1)


def test_endless_bounds_cannot_be_narrowed():
    with pytest.raises(UserError, match=r"ClipAction needs a Box action space with finite bounds, got Box\(-inf"):
        ClipAction(fraction=0.5).bind(BOX, spaces.Box(-np.inf, np.inf, (2,)), lanes=1)


@pytest.mark.parametrize(
    ("kind", "field", "value", "bound"),
    [
        (LowPass, "alpha", 0.0, r"in \(0, 1\]"),
        (LowPass, "alpha", -0.5, r"in \(0, 1\]"),
        (LowPass, "alpha", 1.5, r"in \(0, 1\]"),
        (LowPass, "alpha", float("nan"), r"in \(0, 1\]"),
        (MovingAverageAction, "window", 0, "at least 1"),
        (RateLimitAction, "max_change", 0.0, "above 0"),
        (RateLimitAction, "max_change", float("nan"), "above 0"),
        (HoldAction, "steps", 0, "at least 1"),
        (ClipAction, "fraction", 0.0, r"in \(0, 1\]"),
        (ClipAction, "fraction", 1.5, r"in \(0, 1\]"),
    ],
)
def test_bad_parameters(kind, field, value, bound):
    with pytest.raises(ValueError, match=f"`{field}` must be {bound}, got {value}"):
        kind(**{field: value})
