import numpy as np
import pytest
from gymnasium import spaces
from samples import bound

from brittlestar.errors import UserError
from brittlestar.policies.extractors import FlatImage
from brittlestar.policies.features import FeatureInputs
from brittlestar.policies.inputs import Inputs
from brittlestar.policies.mlp import MlpPolicy

TRAINED = spaces.Box(0, 255, (2, 3, 4), np.uint8)
UNIT = spaces.Box(0.0, 1.0, (2, 3, 4), np.float32)
SPEED = spaces.Box(-1.0, 1.0, (2,), np.float32)
BOTH = spaces.Dict({"camera": TRAINED, "speed": SPEED})


def image(*shape):
    return spaces.Box(0, 255, shape, np.uint8)


def made(space=TRAINED, stack=1, scaled=True):
    key = "camera" if isinstance(space, spaces.Dict) else ""
    return FeatureInputs(Inputs(stack=stack), space, {key: FlatImage((2, 3, 4))}, scaled)


def pixels(*shape, seed=0):
    return np.random.default_rng(seed).integers(256, size=shape, dtype=np.uint8)


@pytest.mark.parametrize(("scaled", "unit"), [(True, 255), (False, 1)])
def test_channels_may_come_first_or_last(scaled, unit):
    seen = pixels(5, 2, 3, 4)
    expected = seen.reshape(5, -1).astype(np.float32) / np.float32(unit)
    for space, images in ((TRAINED, seen), (image(3, 4, 2), np.moveaxis(seen, 1, 3))):
        features = made(scaled=scaled)
        assert features.bind(space) == 24
        (row,), state = features.read(images, "kept", None)
        assert row.dtype == np.float32
        assert np.array_equal(row, expected)
        assert state == "kept"


def test_floats_are_neither_scaled_nor_transposed():
    features, seen = made(UNIT), np.random.default_rng(0).random((2, *UNIT.shape), dtype=np.float32)
    features.bind(UNIT)
    assert np.array_equal(features.read(seen, None, None)[0][0], seen.reshape(2, -1))
    with pytest.raises(UserError, match=r"takes images Box\(2, 3, 4\), got Box\(3, 4, 2\)"):
        features.bind(spaces.Box(0.0, 1.0, (3, 4, 2), np.float32))


@pytest.mark.parametrize("last", [True, False])
def test_frames_are_stacked_in_the_channels_and_remain_bytes(last):
    features = made(stack=2)
    features.bind(image(3, 4, 1) if last else image(1, 3, 4))
    frames, state = pixels(3, 2, 3, 4, seed=1), None
    for step in range(3):
        frame = frames[step, :, None]
        first = np.array([step == 0, step in (0, 2)])
        (row,), state = features.read(np.moveaxis(frame, 1, 3) if last else frame, state, first)
        before = np.where(first[:, None, None], 0, frames[step - 1])
        np.testing.assert_array_equal(
            row.reshape(2, 2, 3, 4), np.stack([before, frames[step]], axis=1) / np.float32(255)
        )
        assert state[1].dtype == np.uint8


def test_entries_of_numbers_remain_in_their_place():
    features = made(BOTH)
    assert features.bind(BOTH) == 26
    seen = {"camera": pixels(2, 2, 3, 4), "speed": np.float32([[1, 2], [3, 4]])}
    camera, speed = features.read(seen, None, None)[0]
    assert camera.shape == (2, 24)
    assert np.array_equal(speed, seen["speed"])


def test_any_number_of_lanes_is_read_in_blocks():
    features, seen = made(), pixels(21, 2, 3, 4)
    (row,), _ = features.read(seen, None, None)
    assert np.array_equal(row, seen.reshape(21, -1) / np.float32(255))


def test_the_gradient_of_floats_has_their_layout_and_bytes_have_none():
    space = spaces.Dict({"camera": UNIT, "speed": SPEED})
    seen = {"camera": np.zeros((2, *UNIT.shape), np.float32), "speed": np.zeros((2, 2), np.float32)}
    slope = np.random.default_rng(0).standard_normal((2, 26)).astype(np.float32)
    features = made(space)
    features.bind(space)
    back = features.pull(slope, seen, None, None)
    assert np.array_equal(back["camera"], slope[:, :24].reshape(2, 2, 3, 4))
    assert np.array_equal(back["speed"], slope[:, 24:])
    features = made(BOTH)
    features.bind(BOTH)
    back = features.pull(slope, seen | {"camera": pixels(2, 2, 3, 4)}, None, None)
    assert list(back) == ["speed"]
    assert np.array_equal(back["speed"], slope[:, 24:])


@pytest.mark.parametrize(
    ("trained", "stack", "space", "message"),
    [
        (TRAINED, 1, image(3, 4, 1), r"takes images Box\(2, 3, 4\), got Box\(3, 4, 1\): stack frames by"),
        (TRAINED, 4, image(3, 4, 1), r"takes images Box\(2, 3, 4\), got Box\(3, 4, 4\): stack frames by"),
        (TRAINED, 1, image(4, 3, 2), r"got Box\(4, 3, 2\)"),
        (TRAINED, 1, spaces.Box(0, 255, (24,), np.uint8), r"got Box\(24,\)"),
        (TRAINED, 1, BOTH, r"got Dict\(camera: Box\(2, 3, 4\), speed"),
        (BOTH, 1, TRAINED, r"got Box\(2, 3, 4\)"),
        (BOTH, 1, spaces.Dict({"camera": TRAINED}), r"takes `speed`, got observations Dict\(camera"),
        (BOTH, 1, spaces.Dict({"camera": TRAINED, "speed": TRAINED}), "takes 26 numbers, got 48"),
    ],
)
def test_other_observations_are_one_line(trained, stack, space, message):
    with pytest.raises(UserError, match=message) as error:
        made(trained, stack).bind(space)
    assert "\n" not in str(error.value)


def test_a_network_takes_the_features():
    layers = [(np.ones((26, 2), np.float32), np.zeros(2, np.float32))]
    policy = bound(MlpPolicy(layers, inputs=made(BOTH)), BOTH, spaces.Box(-99.0, 99.0, (2,)), 2)
    seen = {"camera": np.full((2, 2, 3, 4), 255, np.uint8), "speed": np.zeros((2, 2), np.float32)}
    assert policy.predict(seen)[0].tolist() == [[24.0, 24.0], [24.0, 24.0]]
