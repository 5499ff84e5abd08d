import numpy as np
import pytest
from gymnasium import spaces

from brittlestar.errors import UserError
from brittlestar.policies.mlp import MlpPolicy
from brittlestar.randomness import LaneDraws

DRAWS = LaneDraws(seed=0, stream="policy", lanes=1)
LAYERS = [
    (np.array([[1.0, -1.0], [0.0, 2.0]]), np.array([0.5, 0.0])),
    (np.array([[1.0, 0.0], [0.0, 3.0]]), np.array([0.0, -1.0])),
]


def box(*shape, low=-np.inf, high=np.inf):
    return spaces.Box(low, high, shape, np.float32)


def observations(lanes, width):
    return np.random.default_rng(0).standard_normal((lanes, width)).astype(np.float32)


@pytest.mark.parametrize(
    ("activation", "output", "expected"),
    [
        ("relu", "clip", [[1.0, -1.0], [0.5, 1.0]]),
        ("relu", "tanh", [np.tanh([1.5, -1.0]), np.tanh([0.5, 5.0])]),
        ("tanh", "clip", [[np.tanh(1.5), -1.0], [np.tanh(0.5), 1.0]]),
        ("relu", "argmax", [0, 1]),
    ],
)
def test_table(activation, output, expected):
    policy = MlpPolicy(LAYERS, activation, output)
    actions, state = policy.predict(np.array([[1.0, 0.0], [0.0, 1.0]]), state="kept")
    assert state == "kept"
    np.testing.assert_allclose(actions, expected, atol=1e-12)


SIZES = [(4, 64, 64, 2), (17, 256, 256, 6), (27, 400, 300, 8), (3, 5, 1)]


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_a_lane_is_the_same_in_every_place_of_every_batch(sizes, activation):
    policy, seen = MlpPolicy.random(sizes, seed=1, activation=activation), observations(70, sizes[0])
    alone = np.concatenate([policy.predict(row[None])[0] for row in seen])
    for lanes in (2, 3, 5, 8, 13, 16, 31, 64, 70):
        for shift in range(0, 70, 3):
            rows = (np.arange(lanes) + shift) % 70
            assert np.array_equal(policy.predict(seen[rows])[0], alone[rows])


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_equal_lanes_act_equally(sizes):
    actions = MlpPolicy.random(sizes).predict(np.repeat(observations(1, sizes[0]), 50, axis=0))[0]
    assert (actions == actions[0]).all()


def test_the_memory_order_of_the_weights_makes_no_difference():
    weights, biases = MlpPolicy.random([17, 64])._layers[0]
    plain, turned = MlpPolicy([(weights, biases)]), MlpPolicy([(np.asfortranarray(weights), biases)])
    seen = observations(9, 17)
    assert np.array_equal(plain.predict(seen)[0], turned.predict(seen)[0])


def test_answers_are_not_overwritten_by_the_next_call():
    policy = MlpPolicy(LAYERS[:1])
    first = policy.predict(np.array([[0.1, 0.0]]))[0]
    original = first.copy()
    policy.predict(np.array([[-0.7, 0.3]]))
    assert np.array_equal(first, original)


def test_a_dict_is_read_in_sorted_key_order():
    policy, seen = MlpPolicy.random([5, 8, 2]), observations(4, 5)
    parts = {"goal": seen[:, 2:], "arm": seen[:, :2].reshape(4, 1, 2)}
    assert np.array_equal(policy.predict(parts)[0], policy.predict(seen)[0])


def test_actions_fill_the_bounds_and_shape_of_the_space():
    layers = [(np.array([[9.0, -9.0]]), np.zeros(2))]
    space = spaces.Box(np.array([[-2.0, 1.0]], np.float32), np.array([[6.0, 3.0]], np.float32))
    for output in ("clip", "tanh"):
        policy = MlpPolicy(layers, output=output)
        policy.bind(box(1), space, DRAWS)
        np.testing.assert_allclose(policy.predict(np.ones((1, 1)))[0], [[[6.0, 1.0]]], atol=1e-6)


def test_argmax_does_not_add_the_start_of_the_space():
    policy = MlpPolicy(LAYERS, "relu", "argmax")
    policy.bind(box(2), spaces.Discrete(2, start=5), DRAWS)
    assert policy.predict(np.array([[1.0, 0.0], [0.0, 1.0]]))[0].tolist() == [0, 1]


def test_same_seed_same_network():
    seen = observations(3, 4)
    first, again, other = (MlpPolicy.random([4, 8, 2], seed=seed).predict(seen)[0] for seed in (0, 0, 1))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert first.dtype == np.float32


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"layers": LAYERS, "activation": "rleu"}, "`activation` cannot be 'rleu'; did you mean `relu`?"),
        ({"layers": LAYERS, "output": "softmax"}, "`output` cannot be 'softmax'"),
        ({"layers": []}, "`layers` must hold at least one"),
        ({"layers": [LAYERS[0], (np.zeros((3, 1)), np.zeros(1))]}, r"`layers\[1\]` must be weights \(2, n\)"),
        ({"layers": [(np.zeros((2, 3)), np.zeros(2))]}, r"got \(2, 3\) and \(2,\)"),
    ],
)
def test_bad_networks(arguments, message):
    with pytest.raises(UserError, match=message):
        MlpPolicy(**arguments)


@pytest.mark.parametrize(
    ("output", "seen", "acts", "message"),
    [
        ("clip", box(3), box(2), r"takes 2 numbers, got 3 of Box\(3,\)"),
        ("clip", spaces.Discrete(3), box(2), r"takes 2 numbers, got 3 of Discrete\(3\)"),
        ("clip", spaces.Text(3), box(2), r"takes rows of numbers, got observations Text"),
        ("clip", box(2), box(3), r"gives 2 numbers, but actions are Box\(3,\)"),
        ("clip", box(2), spaces.Discrete(2), r"but actions are Discrete\(2\)"),
        ("tanh", box(2), box(2), r"`output: tanh` needs actions with bounds, got Box\(-inf, inf"),
        ("argmax", box(2), spaces.Discrete(3), r"needs actions Discrete\(2\), got Discrete\(3\)"),
    ],
)
def test_spaces_that_do_not_fit(output, seen, acts, message):
    with pytest.raises(UserError, match=message):
        MlpPolicy(LAYERS, output=output).bind(seen, acts, DRAWS)
