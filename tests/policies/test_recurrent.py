import warnings

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from samples import draws_at

from brittlestar.engine.lanes import Lanes
from brittlestar.engine.plan import Plan
from brittlestar.engine.rollout import rollout
from brittlestar.engine.stack import Parts
from brittlestar.envs import EnvSpec
from brittlestar.errors import UserError
from brittlestar.policies.inputs import Inputs
from brittlestar.policies.recurrent import LstmInputs, lstm_layers
from brittlestar.policies.sb3 import Sb3Policy

torch = pytest.importorskip("torch")
sb3_contrib = pytest.importorskip("sb3_contrib")

SEEN, ACTS = spaces.Box(-1, 1, (5,), np.float32), spaces.Box(-2.0, 3.0, (2,), np.float32)
GOALS = spaces.Dict({"observation": SEEN, "desired_goal": spaces.Box(-1, 1, (2,), np.float32)})
LANES, STEPS = 6, 25


class Toy(gym.Env):
    """An environment with any spaces: a random walk whose length depends on the seed."""

    def __init__(self, seen=SEEN, acts=ACTS):
        self.observation_space, self.action_space = seen, acts

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.left = int(self.np_random.integers(3, 12))
        return self.np_random.standard_normal(5).astype(np.float32), {}

    def step(self, action):
        self.left -= 1
        seen = self.np_random.standard_normal(5).astype(np.float32) + action.sum()
        return seen.astype(np.float32), float(action.sum()), self.left == 0, False, {}


@pytest.fixture(autouse=True)
def registered():
    gym.register("Walk-v0", Toy)
    yield
    del gym.registry["Walk-v0"]


def louder(model):
    """Scales the weights up: the outputs of a new network are nearly 0 and hardly depend on its state."""
    rng = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for value in model.policy.state_dict().values():
            value.copy_(value + 0.8 * (torch.rand(value.shape, generator=rng) - 0.5))
    return model


def made(folder, seen=SEEN, acts=ACTS, policy="MlpLstmPolicy", **options):
    options = {"lstm_hidden_size": 16, "net_arch": [8]} | options
    algorithm = {key: options.pop(key) for key in ("use_sde",) if key in options}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = sb3_contrib.RecurrentPPO(
            policy, Toy(seen, acts), device="cpu", seed=3, policy_kwargs=options, **algorithm
        )
    louder(model).save(folder / "model.zip")
    return model, str(folder / "model.zip")


def bound(path, seen=SEEN, acts=ACTS, lanes=LANES, **options):
    policy = Sb3Policy(path, **options)
    policy.bind(seen, acts, draws_at(lanes=lanes))
    return policy


def sequence(space, steps=STEPS, lanes=LANES):
    rng = np.random.default_rng(1)
    for _ in range(steps):
        if isinstance(space, spaces.Dict):
            yield {key: rng.standard_normal((lanes, *part.shape)).astype(np.float32) for key, part in space.items()}
        elif isinstance(space, spaces.Discrete):
            yield rng.integers(space.n, size=lanes)
        else:
            yield (2 * rng.standard_normal((lanes, *space.shape))).astype(np.float32)


def starts(steps=STEPS, lanes=LANES):
    starts = np.random.default_rng(2).random((steps, lanes)) < 0.15
    starts[0] = True
    assert starts[1:].any()
    assert not starts[1:].all(axis=1).any()
    return starts


def played(policy, space, **options):
    state, actions = None, []
    for seen, first in zip(sequence(space), starts(), strict=True):
        action, state = policy.predict(seen, state, first, **options)
        actions.append(action)
    return np.array(actions)


KINDS = [
    ({}, SEEN, ACTS),
    ({"n_lstm_layers": 3}, SEEN, ACTS),
    ({"shared_lstm": True, "enable_critic_lstm": False}, SEEN, ACTS),
    ({"enable_critic_lstm": False, "net_arch": []}, SEEN, ACTS),
    ({"activation_fn": torch.nn.ReLU, "lstm_kwargs": {"bias": False}}, SEEN, ACTS),
    ({"n_lstm_layers": 2, "lstm_kwargs": {"dropout": 0.5}}, SEEN, ACTS),
    ({"use_sde": True}, SEEN, ACTS),
    ({"lstm_hidden_size": 256, "net_arch": [64, 64]}, SEEN, ACTS),
    ({}, SEEN, spaces.Discrete(4)),
    ({}, SEEN, spaces.MultiDiscrete([2, 4])),
    ({}, SEEN, spaces.MultiBinary(3)),
    ({}, spaces.Discrete(7), ACTS),
    ({"policy": "MultiInputLstmPolicy"}, GOALS, ACTS),
]


@pytest.mark.filterwarnings("ignore:dropout option")
@pytest.mark.parametrize(("options", "seen", "acts"), KINDS)
def test_it_acts_as_stable_baselines3_does_over_many_steps(tmp_path, options, seen, acts):
    model, path = made(tmp_path, seen, acts, **options)
    ours = played(bound(path, seen, acts), seen)
    theirs = played(model, seen, deterministic=True)
    assert len(np.unique(ours.reshape(STEPS * LANES, -1), axis=0)) > 1
    np.testing.assert_allclose(ours, theirs, atol=1e-5)


def test_random_actions_spread_as_those_of_stable_baselines3(tmp_path):
    model, path = made(tmp_path, acts=spaces.Discrete(4))
    lanes = 20_000
    policy, (first, second) = bound(path, acts=spaces.Discrete(4), lanes=lanes), sequence(SEEN, 2, 1)
    many = [np.repeat(seen, lanes, axis=0) for seen in (first, second)]
    _, state = policy.predict(many[0], None, np.ones(lanes, dtype=bool), deterministic=False)
    chosen, _ = policy.predict(many[1], state, np.zeros(lanes, dtype=bool), deterministic=False)
    _, state = model.predict(first, None, np.array([True]))
    with torch.no_grad():
        likely, _ = model.policy.get_distribution(
            torch.as_tensor(second), tuple(torch.as_tensor(part) for part in state), torch.zeros(1)
        )
    expected = likely.distribution.probs[0].numpy()
    assert expected.max() < 0.9
    np.testing.assert_allclose(np.bincount(chosen, minlength=4) / lanes, expected, atol=0.02)


@pytest.mark.parametrize("options", [{"n_lstm_layers": 2}, {"lstm_hidden_size": 130, "net_arch": [33]}])
def test_a_lane_does_not_depend_on_the_others(tmp_path, options):
    _, path = made(tmp_path, **options)
    together = played(bound(path), SEEN)
    for lane in range(LANES):
        policy, state = bound(path, lanes=1), None
        for step, (seen, first) in enumerate(zip(sequence(SEEN), starts(), strict=True)):
            action, state = policy.predict(seen[lane : lane + 1], state, first[lane : lane + 1])
            assert np.array_equal(action[0], together[step, lane])


@pytest.mark.parametrize("deterministic", [True, False])
def test_rows_are_the_same_in_any_number_of_lanes(tmp_path, deterministic):
    _, path = made(tmp_path, n_lstm_layers=2)
    plan = Plan(episodes=9, deterministic=deterministic)
    rows = [rollout(Lanes(EnvSpec(id="Walk-v0"), lanes), Parts(Sb3Policy(path)), plan) for lanes in (1, 4, 9)]
    assert len(np.unique(rows[0].column("return"))) == 9
    assert np.array_equal(rows[0].values, rows[1].values, equal_nan=True)
    assert np.array_equal(rows[0].values, rows[2].values, equal_nan=True)


def test_memory_and_stacked_frames_are_both_per_lane(tmp_path):
    _, path = made(tmp_path, seen=spaces.Box(-1, 1, (10,), np.float32))
    ours = played(bound(path, frame_stack=2), SEEN)
    theirs = played(bound(path, frame_stack=2, trust=True), SEEN)
    np.testing.assert_allclose(ours, theirs, atol=1e-5)


def test_a_returned_state_is_never_changed(tmp_path):
    _, path = made(tmp_path)
    policy, seen = bound(path), next(sequence(SEEN))
    _, state = policy.predict(seen, None, np.ones(LANES, dtype=bool))
    answers = [policy.predict(seen, state, np.zeros(LANES, dtype=bool))[0] for _ in range(2)]
    assert np.array_equal(*answers)


def test_gates_that_are_wide_open_do_not_overflow():
    memory = LstmInputs(Inputs(), [(np.full((2, 4), 1e4, np.float32), np.zeros(4, np.float32))])
    (row,), _ = memory.read(np.array([[1.0], [-1.0]]), None, None)
    np.testing.assert_allclose(row, [[np.tanh(1.0)], [0.0]], atol=1e-6)


def test_the_wrong_environment_is_refused(tmp_path):
    _, path = made(tmp_path)
    with pytest.raises(UserError, match=r"the LSTM takes 5 numbers, got 6 of Box\(6,\)"):
        bound(path, spaces.Box(-1, 1, (6,), np.float32))


@pytest.mark.parametrize(
    ("options", "tensor"), [({"proj_size": 2}, "weight_hr_l0"), ({"bidirectional": True}, "_reverse")]
)
def test_other_recurrent_layers_are_refused(tmp_path, options, tensor):
    _, path = made(tmp_path, lstm_kwargs=options)
    with pytest.raises(
        UserError, match=f"model.zip cannot be rebuilt .* plain LSTM, got .*{tensor}.*`policy.trust=true`"
    ):
        Sb3Policy(path)


def test_a_missing_tensor_is_named():
    with pytest.raises(UserError, match="`net` must have `weight_hh_l0`, got weight_ih_l0"):
        lstm_layers({"net.weight_ih_l0": np.zeros((4, 1))}, "net")


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ([], r"got inputs \[\], units \[\]"),
        ([((3, 4), 4), ((3, 4), 4)], r"got inputs \[2, 2\], units \[1, 1\]"),
        ([((3, 5), 5)], r"`layers\[0\]` must be weights \(n, 4 units\) .* got \(3, 5\) and \(5,\)"),
        ([((1, 4), 4)], r"`layers\[0\]` must take more than its 1 units, got 1 rows"),
    ],
)
def test_bad_layers(shapes, message):
    with pytest.raises(UserError, match=message):
        LstmInputs(Inputs(), [(np.zeros(weights), np.zeros(biases)) for weights, biases in shapes])
