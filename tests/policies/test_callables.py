import sys
import types

import numpy as np
import pytest
from gymnasium import spaces
from samples import PUSH, SEEN, bound

from brittlestar.errors import UserError
from brittlestar.policies.base import Policy
from brittlestar.policies.callables import CallablePolicy, as_policy
from brittlestar.policies.simple import ConstantPolicy


def first_two(observation):
    return observation[:2] * 1.0


def column(observation, gain=1.0):
    return gain * observation[:, :2]


class Counter:
    """Takes batches and counts its calls in the state."""

    def __init__(self, gain=1.0):
        self.gain = gain

    def predict(self, observation, state=None, episode_start=None, deterministic=False):
        return self.gain * observation[:, :2], (state or 0) + 1


class Caller:
    def __call__(self, observation):
        return observation[:2]


@pytest.fixture(autouse=True)
def robots(monkeypatch):
    """A module of the user, importable as `robots.arm`."""
    package, module = types.ModuleType("robots"), types.ModuleType("robots.arm")
    package.__path__ = []
    for thing in (first_two, column, Counter, Caller):
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
        pytest.param(lambda: CallablePolicy("robots.arm:column"), 1.0, id="batch of one"),
        pytest.param(lambda: CallablePolicy("robots.arm:column", {"gain": 0.5}, True), 0.5, id="kwargs"),
        pytest.param(lambda: CallablePolicy("robots.arm:Counter", {"gain": 2.0}), 2.0, id="class"),
        pytest.param(lambda: CallablePolicy("robots.arm:ready"), 3.0, id="object"),
        pytest.param(lambda: CallablePolicy("robots.arm:Caller"), 1.0, id="callable object"),
        pytest.param(lambda: as_policy(first_two), 1.0, id="as_policy function"),
        pytest.param(lambda: as_policy(Counter(0.1)), 0.1, id="as_policy object"),
    ],
)
def test_callables_act(policy, gain):
    actions, _ = bound(policy(), SEEN, PUSH, lanes=2).predict(BATCH)
    assert actions.dtype == np.float32
    np.testing.assert_allclose(actions, gain * BATCH[:, :2])


def test_a_function_sees_one_dict_observation_per_lane():
    policy = as_policy(lambda seen: seen["a"] + seen["b"])
    actions, _ = policy.predict({"a": np.array([[1.0], [2.0]]), "b": np.array([[10.0], [20.0]])})
    assert actions.tolist() == [[11.0], [22.0]]


def test_discrete_actions_become_integers():
    actions, _ = bound(as_policy(lambda seen: np.argmax(seen)), SEEN, spaces.Discrete(3), lanes=2).predict(BATCH)
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
        (as_policy(lambda seen: seen, False), PUSH, r"must return actions of shape \(2,\), got shape \(3,\)"),
        (as_policy(lambda seen: seen, True), PUSH, r"actions of shape \(2, 2\), got shape \(2, 3\)"),
        (as_policy(lambda seen: 0.0), PUSH, r"actions of shape \(2,\), got shape \(\)"),
        (as_policy(lambda seen: 0.5), spaces.Discrete(2), r"integers for Discrete\(2\), got float64"),
        (
            as_policy(Counter()),
            spaces.Discrete(2),
            r"of shape \(1,\), or \(action, state\), got \(shape \(1, 2\), shape \(\)",
        ),
    ],
)
def test_invalid_actions_of_a_callable_are_named(policy, space, message):
    with pytest.raises(UserError, match=f"the policy.*{message}"):
        bound(policy, SEEN, space, lanes=2).predict(BATCH)


@pytest.mark.parametrize("thing", [3, Counter, Policy])
def test_as_policy_refuses_what_cannot_act(thing):
    with pytest.raises(UserError, match="the policy must be a function or an object with `predict`"):
        as_policy(thing)


def test_a_policy_stays_itself():
    policy = ConstantPolicy()
    assert as_policy(policy) is policy
