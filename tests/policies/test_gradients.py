import warnings

import numpy as np
import pytest
from gymnasium import spaces
from samples import ACTS, LANES, bound, box, network, numbers

from brittlestar.errors import UserError
from brittlestar.policies import ConstantPolicy, MlpPolicy, PController, as_policy
from brittlestar.policies.exported import OnnxPolicy, TorchScriptPolicy
from brittlestar.policies.gradients import by_differences
from brittlestar.policies.heads import Sampled, Squashed
from brittlestar.policies.inputs import Inputs
from brittlestar.policies.mlp import ACTIVATIONS
from brittlestar.policies.recurrent import LstmInputs
from brittlestar.policies.sb3 import Sb3Policy
from brittlestar.policies.scaling import Fit, Scaling


def numeric_gradient(policy, observation, weights, key="", state=None, first=None, reach=1e-6):
    """The gradient of `weights * outputs` by central differences, one number at a time."""
    part = observation[key] if key else observation
    slope = np.zeros(part.shape)
    for place in np.ndindex(part.shape[1:]):
        ends = []
        for side in (reach, -reach):
            moved = part.copy()
            moved[:, *place] += side
            moved_observation = observation | {key: moved} if key else moved
            ends.append((weights * policy.differentiate(moved_observation, state, first).outputs).sum(axis=1))
        slope[:, *place] = (ends[0] - ends[1]) / (2 * reach)
    return slope


def assert_gradient(policy, observation, state=None, first=None, atol=1e-6):
    answer = policy.differentiate(observation, state, first)
    weights = numbers(*answer.outputs.shape, seed=9)
    pulled = answer.pull(weights)
    for key, slope in pulled.items():
        np.testing.assert_allclose(slope, numeric_gradient(policy, observation, weights, key, state, first), atol=atol)
        assert slope.any()
    return pulled


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("output", ["clip", "tanh", "argmax", Squashed(limit=0.4), Sampled()], ids=str)
def test_gradients_through_layers_and_heads(activation, output):
    acts = spaces.Discrete(2) if output == "argmax" or isinstance(output, Sampled) else ACTS
    policy = bound(MlpPolicy(network(4), activation, output), box(4), acts)
    assert_gradient(policy, numbers(LANES, 4))


@pytest.mark.parametrize("output", ["clip", "tanh"])
def test_the_outputs_are_those_of_predict(output):
    policy, seen = bound(MlpPolicy.random([4, 64, 2], output=output), box(4)), numbers(LANES, 4)
    np.testing.assert_allclose(policy.differentiate(seen).outputs, policy.predict(seen)[0], rtol=0, atol=1e-7)
    choices = bound(MlpPolicy.random([4, 64, 2], output="argmax"), box(4), spaces.Discrete(2))
    assert np.array_equal(choices.differentiate(seen).outputs.argmax(axis=1), choices.predict(seen)[0])


def test_clipped_outputs_have_no_slope():
    policy = bound(MlpPolicy([(np.eye(2), np.zeros(2))]), box(2), spaces.Box(-1, 1, (2,)))
    assert policy.differentiate(np.array([[0.5, 3.0]])).pull(np.ones((1, 2)))[""].tolist() == [[1.0, 0.0]]
    scaled = Inputs(scalings={"": Scaling(np.zeros(2), np.full(2, 4.0), 0.0, clip=1.0)})
    policy = bound(MlpPolicy([(np.eye(2), np.zeros(2))], inputs=scaled), box(2), spaces.Box(-9, 9, (2,)))
    assert policy.differentiate(np.array([[0.5, 3.0]])).pull(np.ones((1, 2)))[""].tolist() == [[0.5, 0.0]]


def scaling(width, seed=5):
    return Scaling(numbers(width, seed=seed), np.abs(numbers(width, seed=seed + 1)) + 0.1)


@pytest.mark.parametrize(
    ("inputs", "shape", "width"),
    [
        (Inputs(scalings={"": scaling(4)}), (4,), 4),
        (Inputs(scalings={"": scaling(5)}, time_limit=50), (4,), 5),
        (Inputs(scalings={"": scaling(15)}, time_limit=50, stack=3), (4,), 15),
        (Inputs(stack=2), (2, 3), 12),
        (Inputs(fit=Fit(keep=3, width=6)), (4,), 6),
        (Inputs(fit=Fit(keep=6, width=6), time_limit=9), (4,), 7),
    ],
    ids=["scaled", "time", "stack", "frames", "cut", "padded"],
)
def test_gradients_through_inputs(inputs, shape, width):
    policy = bound(MlpPolicy(network(width), inputs=inputs), box(*shape), spaces.Box(-9, 9, (2,)))
    state = policy.predict(numbers(LANES, *shape, seed=1), None, np.ones(LANES, bool))[1]
    pulled = assert_gradient(policy, numbers(LANES, *shape), state, np.arange(LANES) == 2)
    assert pulled[""].shape == (LANES, *shape)


@pytest.mark.parametrize("scalings", [{"goal": scaling(2)}, {"": scaling(5)}], ids=["by entry", "whole"])
def test_gradients_of_the_entries_that_are_read(scalings):
    space = spaces.Dict({"arm": box(3), "goal": box(2), "other": box(1)})
    inputs = Inputs(keys=["goal", "arm"], scalings=scalings)
    policy = bound(MlpPolicy(network(5), inputs=inputs), space, spaces.Box(-9, 9, (2,)))
    seen = {key: numbers(LANES, *part.shape, seed=i) for i, (key, part) in enumerate(space.items())}
    assert set(assert_gradient(policy, seen)) == {"arm", "goal"}


def lstm_policy():
    layers = [(numbers(n + 6, 24, seed=n, scale=0.5), numbers(24, seed=n + 1)) for n in (4, 6)]
    return bound(MlpPolicy(network(6), inputs=LstmInputs(Inputs(), layers)), box(4), spaces.Box(-9, 9, (2,)))


def test_gradients_with_a_constant_memory():
    policy, first = lstm_policy(), np.arange(LANES) == 1
    assert_gradient(policy, numbers(LANES, 4))
    state = policy.predict(numbers(LANES, 4, seed=1), None, np.ones(LANES, bool))[1]
    pulled = assert_gradient(policy, numbers(LANES, 4), state, first)[""]
    fresh = policy.differentiate(numbers(LANES, 4)).pull(numbers(LANES, 2, seed=9))[""]
    assert [np.allclose(*pair) for pair in zip(pulled, fresh, strict=True)] == first.tolist()


@pytest.mark.parametrize("make", [lambda: bound(MlpPolicy.random([17, 256, 256, 2]), box(17)), lstm_policy])
def test_a_lane_is_the_same_in_every_place_of_every_batch(make):
    policy = make()
    seen, weights = numbers(40, 17 if policy.sizes[0] == 17 else 4), numbers(40, 2, seed=1)
    alone = np.concatenate([policy.differentiate(seen[i : i + 1]).pull(weights[i : i + 1])[""] for i in range(40)])
    for lanes in (2, 3, 8, 16, 31):
        rows = (np.arange(lanes) + 7) % 40
        assert np.array_equal(policy.differentiate(seen[rows]).pull(weights[rows])[""], alone[rows])


@pytest.mark.parametrize(
    "policy",
    [PController(), ConstantPolicy([0.0]), as_policy(np.tanh), OnnxPolicy("none")],
    ids=lambda p: type(p).__name__,
)
def test_policies_without_gradients_are_named(policy):
    with pytest.raises(
        UserError, match=rf"^{type(policy).__name__} has no gradients: .*`perturbation.gradient=numeric`"
    ):
        policy.differentiate(np.zeros((1, 3)))


def script(path, layers, last=None):
    torch = pytest.importorskip("torch")
    modules = []
    for weights, biases in layers:
        linear = torch.nn.Linear(*weights.shape)
        linear.load_state_dict({"weight": torch.tensor(weights.T), "bias": torch.tensor(biases)})
        modules += [linear, torch.nn.Tanh()]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        net = torch.nn.Sequential(*modules[:-1], *([last] if last else []))
        torch.jit.save(torch.jit.trace(net, torch.zeros(1, len(layers[0][0]))), path)
    return TorchScriptPolicy(str(path))


@pytest.mark.parametrize("acts", [ACTS, spaces.Discrete(2)], ids=["box", "choices"])
def test_torchscript_has_the_gradients_of_the_same_layers(tmp_path, acts):
    policy = bound(script(tmp_path / "net.pt", network(4)), box(4), acts)
    plain = bound(MlpPolicy(network(4), output="clip" if acts is ACTS else "argmax"), box(4), acts)
    seen, weights = numbers(LANES, 4), numbers(LANES, 2, seed=9)
    for one, other in [(policy.differentiate(seen), plain.differentiate(seen))]:
        np.testing.assert_allclose(one.outputs, other.outputs, atol=1e-6)
        np.testing.assert_allclose(one.pull(weights)[""], other.pull(weights)[""], atol=1e-5)


def test_torchscript_that_returns_a_choice_has_no_gradients(tmp_path):
    torch = pytest.importorskip("torch")

    class Argmax(torch.nn.Module):
        def forward(self, scores):
            return scores.argmax(dim=1)

    policy = bound(script(tmp_path / "net.pt", network(4), Argmax()), box(4), spaces.Discrete(2))
    with pytest.raises(UserError, match="net.pt has no gradients: it returns a choice"):
        policy.differentiate(numbers(LANES, 4))


@pytest.mark.parametrize(
    ("algorithm", "env"),
    [
        ("PPO", "CartPole-v1"),
        ("PPO", "Pendulum-v1"),
        ("SAC", "Pendulum-v1"),
        ("DQN", "CartPole-v1"),
        ("QRDQN", "CartPole-v1"),
    ],
)
def test_a_loaded_model_has_the_gradients_of_the_rebuilt_one(tmp_path, algorithm, env):
    package = pytest.importorskip("sb3_contrib" if algorithm == "QRDQN" else "stable_baselines3")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = getattr(package, algorithm)("MlpPolicy", env, device="cpu", seed=0)
    model.save(tmp_path / "model.zip")
    one, other = (Sb3Policy(str(tmp_path / "model.zip"), trust=trust) for trust in (True, False))
    answers = []
    seen = numbers(LANES, *model.observation_space.shape).astype(np.float32)
    for policy in (one, other):
        answers.append(bound(policy, model.observation_space, model.action_space).differentiate(seen))
    # Logits are unique up to a constant.
    outputs = [
        answer.outputs - answer.outputs.mean(axis=1, keepdims=True) * (env == "CartPole-v1") for answer in answers
    ]
    np.testing.assert_allclose(*outputs, atol=1e-5)
    weights = numbers(*outputs[0].shape, seed=9)
    weights -= weights.mean(axis=1, keepdims=True) * (env == "CartPole-v1")
    pulled = [answer.pull(weights)[""] for answer in answers]
    np.testing.assert_allclose(*pulled, atol=1e-5)
    assert pulled[0].any()


def test_differences_find_the_same_gradient():
    policy, seen = bound(MlpPolicy(network(4), output="tanh"), box(4)), numbers(LANES, 4)
    weights, radius = numbers(LANES, 2, seed=9), {"": np.full((LANES, 4), 1e-4)}
    slopes = by_differences(policy, seen, None, np.zeros(LANES, bool), radius)
    np.testing.assert_allclose(slopes.outputs, policy.differentiate(seen).outputs, atol=1e-7)
    np.testing.assert_allclose(slopes.pull(weights)[""], policy.differentiate(seen).pull(weights)[""], atol=1e-6)


def test_differences_of_a_controller_are_its_gain():
    seen = {"observation": np.zeros((2, 10)), "desired_goal": np.full((2, 3), 0.01)}
    radius = {"observation": np.array([[0.01], [0.0]]) * np.ones(10)}
    slopes = by_differences(PController(kp=10.0), seen, None, np.ones(2, bool), radius)
    slope = slopes.pull(np.array([[1.0, 2.0, 3.0, 4.0]] * 2))["observation"]
    np.testing.assert_allclose(slope[0], [-10, -20, -30, *[0] * 7], atol=1e-3)
    assert np.isfinite(slope).all()
