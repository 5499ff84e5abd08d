"""Every common form of a policy that a user writes, and the same bits in any number of lanes."""

import random
import threading

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from samples import PUSH, SEEN, bound

from brittlestar.engine.lanes import Lanes
from brittlestar.engine.plan import Plan
from brittlestar.engine.rollout import rollout
from brittlestar.engine.stack import Parts
from brittlestar.envs import EnvSpec
from brittlestar.errors import UserError
from brittlestar.mitigations import Ensemble, Mitigation
from brittlestar.perturbations import FgsmObservation, GaussianObservation
from brittlestar.policies.callables import as_policy

BATCH = np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32)
GAIN = np.array([[0.4, -0.3], [0.1, 0.2], [-0.2, 0.7]])
PENDULUM = EnvSpec(id="Pendulum-v1", max_steps=25)


class Single:
    def predict(self, observation):
        assert observation.shape == (3,)
        return observation @ GAIN


class SingleWithState(Single):
    def predict(self, observation, deterministic=True):
        assert deterministic
        return super().predict(observation), None


class SingleOfSb3(Single):
    def predict(self, observation, state=None, episode_start=None, deterministic=False):
        assert deterministic and episode_start.shape == (1,)
        return super().predict(observation), state


class Batch:
    def predict(self, observation):
        return observation[:, :3] @ GAIN


class BatchOfSb3(Batch):
    def predict(self, observation, state=None, episode_start=None, deterministic=False):
        assert deterministic and episode_start.shape == (len(observation),)
        return super().predict(observation), state


class OldSb3(Batch):
    def predict(self, observation, state=None, mask=None, deterministic=False):
        assert mask.shape == (1,)
        return super().predict(observation), state


class Act:
    def act(self, state):
        return state[:3] @ GAIN


class Called:
    def __call__(self, observation, **kwargs):
        assert kwargs.keys() == {"state", "episode_start", "deterministic"}
        return list(observation[:3] @ GAIN)


class Column:
    def __call__(self, observation):
        return (observation @ GAIN).reshape(2, 1)


def plain(observation):
    return observation[:3] @ GAIN


def tensor(observation):
    torch = pytest.importorskip("torch")
    return torch.as_tensor(observation[:3].astype(np.float64)) @ torch.as_tensor(GAIN)


def network():
    torch = pytest.importorskip("torch")
    layer = torch.nn.Linear(3, 2, bias=False)
    layer.weight.data = torch.as_tensor(GAIN.T, dtype=torch.float32)
    return layer


def scripted():
    torch = pytest.importorskip("torch")

    class Actor(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = network()

        def act(self, observation):
            return self.layer(observation), torch.zeros(1)

    return Actor()


FORMS = {
    "predict(obs) -> action": (Single, "predict(observation) with one observation, it returns an action"),
    "predict(obs, deterministic) -> action, None": (
        SingleWithState,
        "predict(observation, deterministic) with one observation, it returns (action, state)",
    ),
    "four arguments, one observation": (
        SingleOfSb3,
        "predict(observation, state, episode_start, deterministic) with one observation, it returns (action, state)",
    ),
    "batch": (Batch, "predict(observation) with a batch of one, it returns an action"),
    "four arguments, batch": (
        BatchOfSb3,
        "predict(observation, state, episode_start, deterministic) with a batch of one, it returns (action, state)",
    ),
    "old names": (OldSb3, "predict(observation, state, mask, deterministic) with a batch of one"),
    "act": (Act, "act(observation) with one observation"),
    "__call__ with **kwargs": (Called, "Called(observation, state, episode_start, deterministic) with one"),
    "column vector": (Column, "Column(observation) with one observation"),
    "function": (lambda: plain, "plain(observation) with one observation"),
    "bound method": (lambda: Act().act, "act(observation) with one observation"),
    "tensor": (lambda: tensor, "tensor(observation) with one observation"),
    "network of torch": (network, "Linear(observation) with one observation"),
    "method of a network": (scripted, "act(observation) with one observation, it returns (action, state)"),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_common_form_acts_and_is_named(form):
    make, note = FORMS[form]
    policy = bound(as_policy(make(), name="it"), SEEN, PUSH, lanes=4)
    actions, _ = policy.predict(BATCH, None, np.ones(4, dtype=bool))
    np.testing.assert_allclose(actions, BATCH @ GAIN, atol=1e-6)
    assert actions.dtype == np.float32
    assert policy.notes[0].startswith(f"it: called as {note}")


@pytest.mark.parametrize("form", FORMS)
def test_the_number_of_lanes_changes_no_bit(form):
    actions = []
    for lanes in (1, 3, 4):
        policy = bound(as_policy(FORMS[form][0]()), SEEN, PUSH, lanes=lanes)
        starts = np.ones(lanes, dtype=bool)
        actions.append(policy.predict(BATCH[:lanes], None, starts)[0])
    assert np.array_equal(actions[0], actions[2][:1])
    assert np.array_equal(actions[1], actions[2][:3])


def test_normalised_outputs_of_a_network_get_a_note():
    torque = spaces.Box(-2.0, 2.0, (2,), np.float32)
    for thing, space, count in ((network(), torque, 2), (network(), PUSH, 1), (plain, torque, 1)):
        policy = bound(as_policy(thing), SEEN, space, lanes=4)
        policy.predict(0.1 * BATCH)
        assert len(policy.notes) == count


class Integrator:
    """Keeps its state inside, as controllers do."""

    def __init__(self):
        self.sums = [0.0]

    def predict(self, observation, deterministic=True):
        self.sums[0] += 0.1 * observation[2]
        return np.array([-observation[1] - self.sums[0]]), None


class Recurrent:
    """Passes its state through the caller."""

    def predict(self, observation, state=None):
        state = 0.0 if state is None else state
        return np.array([-observation[1] - state]), state + 0.1 * observation[2]


class Delayed:
    """The same with a state inside."""

    def __init__(self):
        self.state = None

    def predict(self, observation):
        action, self.state = Recurrent().predict(observation, self.state)
        return action


class BatchRecurrent:
    """As Stable-Baselines3: the state of all lanes, cleared where an episode starts."""

    def predict(self, observation, state=None, episode_start=None, deterministic=False):
        state = np.zeros(len(observation)) if state is None else np.where(episode_start, 0.0, state)
        return (-observation[:, 1] - state)[:, None], state + 0.1 * observation[:, 2]


def in_a_plain_loop(policy, seeds):
    """Returns of a policy that gets its state back, and none at the start of an episode."""
    env, totals = gym.make("Pendulum-v1", max_episode_steps=25), []
    for seed in seeds:
        (seen, _), total, over, state = env.reset(seed=int(seed)), 0.0, False, None
        while not over:
            action, state = policy.predict(seen, state)
            seen, reward, _, over, _ = env.step(action.astype(np.float32))
            total += reward
        totals.append(total)
    return totals


def returns(policy, lanes, perturbation=None, **plan):
    parts = Parts(as_policy(policy), perturbation) if perturbation else Parts(as_policy(policy))
    return rollout(Lanes(PENDULUM, lanes), parts, Plan(episodes=17, **plan))


@pytest.mark.parametrize("kind", [Integrator, Recurrent, BatchRecurrent])
def test_every_episode_has_a_state_of_its_own_in_any_number_of_lanes(kind):
    rows = [returns(kind(), lanes).values for lanes in (1, 3, 16)]
    assert np.array_equal(rows[0], rows[1], equal_nan=True)
    assert np.array_equal(rows[0], rows[2], equal_nan=True)


@pytest.mark.parametrize("kind", [Recurrent, BatchRecurrent])
def test_a_state_is_that_of_a_plain_loop(kind):
    rows = returns(kind(), 3)
    np.testing.assert_allclose(
        rows.column("return"), in_a_plain_loop(Recurrent(), rows.column("reset_seed")), rtol=1e-5
    )


def test_an_object_remains_as_it_was_passed():
    controller = Integrator()
    returns(controller, 3)
    assert controller.sums == [0.0]


def test_asking_twice_in_a_step_advances_the_state_once():
    noise = GaussianObservation(sigma=0.1)
    once, twice = (returns(Integrator(), 3, noise, divergence=divergence) for divergence in (False, True))
    assert np.array_equal(once.column("return"), twice.column("return"))


@pytest.mark.parametrize("attacked", [False, True])
def test_attacks_and_votes_ask_a_policy_with_a_state_without_mixing_it_up(attacked):
    perturbation = FgsmObservation(epsilon=0.1) if attacked else GaussianObservation(sigma=0.1)
    mitigation = Mitigation() if attacked else Ensemble(sigma=0.1, copies=3)
    rows = [
        rollout(Lanes(PENDULUM, lanes), Parts(as_policy(kind()), perturbation, mitigation), Plan(4)).values
        for kind, lanes in ((Recurrent, 1), (Recurrent, 3), (Delayed, 1), (Delayed, 3))
    ]
    for other in rows[1:]:
        np.testing.assert_array_equal(rows[0], other)


class Dice:
    def __init__(self):
        self.rng, self.space, self.old = np.random.default_rng(0), spaces.Box(-0.5, 0.5, (1,)), random.Random(0)

    def predict(self, observation):
        return self.space.sample() + self.rng.uniform(-0.5, 0.5, 1) + self.old.uniform(-0.5, 0.5)


def test_random_objects_repeat_themselves_per_episode_of_a_seed_and_never_between_episodes():
    lanes = Lanes(EnvSpec(id="Pendulum-v1", max_steps=5), 4)
    actions = []
    for seed, count in ((0, 4), (0, 4), (1, 4)):
        lanes.resize(count)
        rows = rollout(lanes, Parts(as_policy(Dice())), Plan(4, seed, record="trajectories"))
        actions.append([rows.trajectories[name] for name in sorted(rows.trajectories) if "action" in name])
    first, again, other = (np.concatenate([part.ravel() for part in parts]) for parts in actions)
    assert np.array_equal(first, again)
    assert not np.isin(first, other).any()
    assert len(np.unique(first)) == len(first)


class Holder:
    """Has a part that cannot be copied, as the session of an ONNX file."""

    def __init__(self):
        self.session, self.steps = threading.Lock(), 0

    def predict(self, observation):
        self.steps += 1
        return observation[:2] * self.steps


def test_a_part_that_cannot_be_copied_is_shared_and_named():
    policy = bound(as_policy(Holder()), SEEN, PUSH, lanes=2)
    actions, state = policy.predict(BATCH[:2], None, np.ones(2, dtype=bool))
    np.testing.assert_allclose(actions, BATCH[:2, :2])
    np.testing.assert_allclose(policy.predict(BATCH[:2], state, np.zeros(2, dtype=bool))[0], 2 * BATCH[:2, :2])
    assert policy.notes[0].endswith("every episode starts with a copy of it; all lanes share session")


@pytest.mark.parametrize(
    ("function", "space", "action"),
    [
        (lambda seen: 0.5, spaces.Box(-1.0, 1.0, (1,)), [0.5]),
        (lambda seen: (0.5, None), spaces.Box(-1.0, 1.0, (1,)), [0.5]),
        (lambda seen: (0.5, -0.5), spaces.Box(-1.0, 1.0, (2,)), [0.5, -0.5]),
        (lambda seen: ((0.5, -0.5), "state"), spaces.Box(-1.0, 1.0, (2,)), [0.5, -0.5]),
        (lambda seen: [[0.5, -0.5]], spaces.Box(-1.0, 1.0, (2,)), [0.5, -0.5]),
        (lambda seen: np.array([1]), spaces.Discrete(2), 1),
        (lambda seen: (np.int64(1), None), spaces.Discrete(2), 1),
        (lambda seen: seen[0] > -9, spaces.Discrete(2), 1),
        (lambda seen: [2, 1], spaces.MultiDiscrete([3, 2]), [2, 1]),
        (lambda seen: np.zeros(len(seen), int) + 1, spaces.Discrete(2), 1),
    ],
)
def test_one_number_is_a_number_in_any_wrapping(function, space, action):
    policy = bound(as_policy(function), SEEN, space, lanes=2)
    assert policy.predict(BATCH[:2])[0].tolist() == [action, action]


def test_dict_observations_in_both_forms():
    space = spaces.Dict({"a": SEEN, "mode": spaces.Discrete(3)})
    seen = {"a": BATCH, "mode": np.array([0, 1, 2, 1])}
    for function in (lambda o: o["a"][:2] * o["mode"], lambda o: o["a"][:, :2] * o["mode"][:, None]):
        actions, _ = bound(as_policy(function), space, PUSH, lanes=4).predict(seen)
        np.testing.assert_allclose(actions, BATCH[:, :2] * seen["mode"][:, None])


def test_discrete_observations_in_both_forms():
    table = np.array([3, 1, 2, 0])
    for function in (lambda o: table[o], lambda o: int(table[int(o)])):
        policy = bound(as_policy(function), spaces.Discrete(4), spaces.Discrete(4), lanes=3)
        assert policy.predict(np.array([0, 1, 3]))[0].tolist() == [3, 1, 0]


def test_a_policy_may_change_its_observation():
    def shift(observation):
        observation -= 1.0
        return observation[:2]

    seen = BATCH.copy()
    actions, _ = bound(as_policy(shift), SEEN, PUSH, lanes=4).predict(seen)
    np.testing.assert_allclose(actions, BATCH[:, :2] - 1.0)
    assert np.array_equal(seen, BATCH)


def test_a_function_that_fits_is_called_once_per_step_and_lane():
    calls = []

    def record(observation):
        calls.append(observation)
        return observation[:2]

    bound(as_policy(record), SEEN, PUSH, lanes=4).predict(BATCH)
    np.testing.assert_array_equal(calls, BATCH)


def test_a_policy_may_return_the_same_array_every_time():
    command = np.zeros(2, np.float32)

    def in_place(observation):
        command[:] = observation[:2]
        return command

    np.testing.assert_array_equal(bound(as_policy(in_place), SEEN, PUSH, lanes=4).predict(BATCH)[0], BATCH[:, :2])


def test_two_forms_with_different_actions_are_refused():
    def normalise_each(observation):
        return np.stack([part / np.linalg.norm(part) for part in observation])

    policy = as_policy(normalise_each, name="it")
    space = spaces.Box(-1.0, 1.0, (2,))
    with pytest.raises(
        UserError, match=r"it returns .* for one observation but .* for a batch of one: set `policy.batc"
    ):
        bound(policy, space, space, lanes=1).predict(np.array([[0.6, 0.8]]))
    together = bound(as_policy(normalise_each, batched=True), space, space, lanes=1).predict(np.array([[3.0, 4.0]]))[0]
    np.testing.assert_allclose(together, [[0.6, 0.8]])


def test_random_actions_are_not_taken_for_two_forms():
    rng = np.random.default_rng(0)
    policy = bound(as_policy(lambda seen: rng.uniform(-1, 1, seen.shape)), SEEN, SEEN, lanes=2)
    assert policy.predict(BATCH[:2])[0].shape == (2, 3)
    assert "with one observation" in policy.notes[0]


def test_a_callable_without_a_signature_acts():
    policy = bound(as_policy(np.tanh), SEEN, SEEN, lanes=2)
    np.testing.assert_allclose(policy.predict(BATCH[:2])[0], np.tanh(BATCH[:2]))

    class Opaque:
        __signature__ = "none"

        def __call__(self, observation, *, state, episode_start, deterministic):
            return observation[:2]

    policy = bound(as_policy(Opaque()), SEEN, PUSH, lanes=2)
    np.testing.assert_allclose(policy.predict(BATCH[:2])[0], BATCH[:2, :2])


class Wrong:
    def predict(self, observation, deterministic=True):
        return observation["position"], None


@pytest.mark.parametrize(
    ("function", "error", "message"),
    [
        (lambda seen: seen, UserError, r"it must return actions of shape \(2,\), got shape \(3,\)"),
        (lambda seen: "left", UserError, r"it must return actions of shape \(2,\), got str"),
        (
            lambda seen: (seen, 1, 2),
            UserError,
            r"of shape \(2,\), or \(action, state\), got \(shape \(3,\), shape \(\)",
        ),
        (
            lambda seen: seen[:, :1],
            UserError,
            r"of shape \(1, 2\), got shape \(1, 1\) for a batch of one \(with one observation: IndexError: too many",
        ),
        (lambda seen, goal: seen, UserError, r"it needs the argument `goal`; behind the observation it may take state"),
        (lambda *, seen: seen, UserError, "it must take an observation as its first argument"),
        (lambda: 0, UserError, "it must take an observation as its first argument"),
        (Wrong(), IndexError, "only integers, slices"),
    ],
)
def test_mistakes_are_one_line(function, error, message):
    with pytest.raises(error, match=message):
        bound(as_policy(function, name="it"), SEEN, PUSH, lanes=2).predict(BATCH[:2])


def test_masks_come_in_the_form_of_the_observation():
    def single(observation, action_masks=None):
        return int(np.flatnonzero(action_masks)[-1])

    def batch(observation, action_masks=None):
        return np.array([int(np.flatnonzero(row)[-1]) for row in action_masks])

    masks = np.array([[1, 1, 0], [1, 0, 0]], dtype=bool)
    for function in (single, batch):
        policy = bound(as_policy(function), SEEN, spaces.Discrete(3), lanes=2)
        assert policy.wants_masks
        assert policy.predict(BATCH[:2], action_masks=masks)[0].tolist() == [1, 0]
