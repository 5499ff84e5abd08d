import sys
import types

import numpy as np
import pytest
from gymnasium import spaces

from brittlestar.errors import UserError
from brittlestar.policies.base import Policy
from brittlestar.policies.callables import CallablePolicy, as_policy
from brittlestar.policies.simple import ConstantPolicy, RandomPolicy
from brittlestar.randomness import LaneDraws

SEEN = spaces.Box(-1.0, 1.0, (3,), np.float32)
PUSH = spaces.Box(-1.0, 1.0, (2,), np.float32)


def draws_at(step, lanes=200, seed=0):
    draws = LaneDraws(seed=seed, stream="policy", lanes=lanes)
    draws.at(episodes=np.arange(lanes), steps=np.full(lanes, step))
    return draws


def bound(policy, action_space, lanes=2):
    policy.bind(SEEN, action_space, draws_at(0, lanes))
    return policy


def random_actions(action_space, **where):
    draws = draws_at(**{"step": 0, **where})
    policy = RandomPolicy()
    policy.bind(SEEN, action_space, draws)
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
    actions = bound(ConstantPolicy(action), space).predict(np.zeros((2, 3)))[0]
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
        bound(ConstantPolicy(action), space)


def first_two(observation):
    return observation[:2] * 1.0


def column(observation, gain=1.0):
    return gain * observation[:, :2]


class Counter:
    """Records its arguments and counts its calls in the state."""

    def __init__(self, gain=1.0):
        self.gain = gain

    def predict(self, observation, state=None, episode_start=None, deterministic=False):
        self.asked = episode_start, deterministic
        return self.gain * observation[:, :2], (state or 0) + 1


class Caller:
    def __call__(self, observation):
        return observation[:2]


class Forgetful:
    def predict(self, observation, state=None, episode_start=None, deterministic=False):
        return observation[:, :2]


@pytest.fixture(autouse=True)
def robots(monkeypatch):
    """A module of the user, importable as `robots.arm`."""
    package, module = types.ModuleType("robots"), types.ModuleType("robots.arm")
    package.__path__ = []
    for thing in (first_two, column, Counter, Caller, Forgetful):
        setattr(module, thing.__name__, thing)
    module.ready, module.number = Counter(3.0), 3
    monkeypatch.setitem(sys.modules, "robots", package)
    monkeypatch.setitem(sys.modules, "robots.arm", module)


BATCH = np.array([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]], dtype=np.float32)


@pytest.mark.parametrize(
    ("policy", "gain"),
    [
        pytest.param(lambda: CallablePolicy("robots.arm:first_two"), 1.0, id="function per lane"),
        pytest.param(lambda: CallablePolicy("robots.arm.first_two"), 1.0, id="dotted path"),
        pytest.param(lambda: CallablePolicy("robots.arm:column", batched=True), 1.0, id="batched"),
        pytest.param(lambda: CallablePolicy("robots.arm:column", {"gain": 0.5}, True), 0.5, id="kwargs"),
        pytest.param(lambda: CallablePolicy("robots.arm:Counter", {"gain": 2.0}), 2.0, id="class"),
        pytest.param(lambda: CallablePolicy("robots.arm:ready"), 3.0, id="object"),
        pytest.param(lambda: CallablePolicy("robots.arm:Caller"), 1.0, id="callable object"),
        pytest.param(lambda: as_policy(first_two), 1.0, id="as_policy function"),
        pytest.param(lambda: as_policy(Counter(0.1)), 0.1, id="as_policy object"),
    ],
)
def test_callables_act(policy, gain):
    actions, _ = bound(policy(), PUSH).predict(BATCH)
    assert actions.dtype == np.float32
    np.testing.assert_allclose(actions, gain * BATCH[:, :2])


def test_a_function_sees_one_dict_observation_per_lane():
    policy = as_policy(lambda seen: seen["a"] + seen["b"])
    actions, _ = policy.predict({"a": np.array([[1.0], [2.0]]), "b": np.array([[10.0], [20.0]])})
    assert actions.tolist() == [[11.0], [22.0]]


def test_predict_gets_the_whole_signature():
    counter = Counter()
    policy, start = bound(as_policy(counter), PUSH), np.array([True, False])
    _, state = policy.predict(BATCH, None, start, True)
    _, state = policy.predict(BATCH, state, start, True)
    assert state == 2
    assert counter.asked == (start, True)


def test_a_policy_stays_itself():
    policy = ConstantPolicy()
    assert as_policy(policy) is policy


def test_discrete_actions_become_integers():
    actions, _ = bound(as_policy(lambda seen: np.argmax(seen)), spaces.Discrete(3)).predict(BATCH)
    assert actions.tolist() == [2, 2]
    assert actions.dtype == np.int64


@pytest.mark.parametrize(
    ("path", "kwargs", "message"),
    [
        ("first_two", {}, "must look like `package.module:attribute`, got `first_two`"),
        ("robots.arm:", {}, "must look like"),
        ("robots.arm:frist_two", {}, "`robots.arm` has no `frist_two`; did you mean `first_two`?"),
        ("robots.arm.first", {}, "`robots.arm` has no `first`; "),
        ("brittlestar.policies.simpel:RandomPolicy", {}, "no module `.*simpel`; did you mean `simple`?"),
        ("no_such_place_xyz.module:act", {}, "there is no module `no_such_place_xyz`; check the spelling"),
        ("robots.arm:number", {}, "`robots.arm:number` must be a function or an object .* got 3"),
        ("robots.arm:Counter", {"gian": 2.0}, "`kwargs` do not fit `robots.arm:Counter`: .*gian"),
        ("robots.arm:ready", {"gain": 2.0}, "is an object of type Counter"),
    ],
)
def test_bad_paths(path, kwargs, message):
    with pytest.raises(UserError, match=message):
        CallablePolicy(path, kwargs)


def test_a_module_that_needs_another_module(tmp_path, monkeypatch):
    (tmp_path / "needs_more_xyz.py").write_text("import missing_dependency_xyz\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UserError, match=r"importing `needs_more_xyz` failed: .*missing_dependency_xyz"):
        CallablePolicy("needs_more_xyz:act")


@pytest.mark.parametrize(
    ("policy", "space", "message"),
    [
        (as_policy(lambda seen: seen), PUSH, r"must return actions of shape \(2,\), got shape \(3,\)"),
        (as_policy(lambda seen: seen, True), PUSH, r"actions of shape \(2, 2\), got shape \(2, 3\)"),
        (as_policy(lambda seen: 0.0), PUSH, r"actions of shape \(2,\), got shape \(\)"),
        (as_policy(lambda seen: 0.5), spaces.Discrete(2), r"integers for Discrete\(2\), got float64"),
        (as_policy(Forgetful()), PUSH, r"`predict` must return \(actions, state\), got ndarray"),
        (as_policy(Counter()), spaces.Discrete(2), r"actions of shape \(2,\), got shape \(2, 2\)"),
    ],
)
def test_invalid_actions_of_a_callable_are_named(policy, space, message):
    with pytest.raises(UserError, match=f"the policy.*{message}"):
        bound(policy, space).predict(BATCH)


@pytest.mark.parametrize("thing", [3, Counter, Policy])
def test_as_policy_refuses_what_cannot_act(thing):
    with pytest.raises(UserError, match="the policy must be a function or an object with `predict`"):
        as_policy(thing)
