"""The network of IMPALA without torch: the features and gradients of the one that was trained."""

import numpy as np
import pytest
from gymnasium import spaces

from brittlestar.policies.cnn import NatureCnn
from brittlestar.policies.extractors import read_extractors
from brittlestar.policies.impala import ImpalaCnn

torch = pytest.importorskip("torch")
pytest.importorskip("stable_baselines3")

SHAPE, CHANNELS, FEATURES = (3, 20, 17), (4, 6), 9


def network(shape=SHAPE, channels=CHANNELS):
    from brittlestar.training.impala import ImpalaCNN

    torch.manual_seed(0)
    return ImpalaCNN(spaces.Box(0, 255, shape, np.uint8), FEATURES, channels)


def tensors_of(module):
    return {name: tensor.numpy() for name, tensor in module.state_dict().items()}


def images_of(lanes, shape=SHAPE):
    channels, *sides = shape
    return np.random.default_rng(0).standard_normal((lanes, *sides, channels)).astype(np.float32)


@pytest.mark.parametrize(
    ("shape", "channels"), [(SHAPE, CHANNELS), ((1, 16, 16), (4,)), ((3, 64, 64), (16, 32, 32)), ((2, 3, 3), (2,) * 5)]
)
def test_features_and_gradients_are_those_of_torch(shape, channels):
    module, images = network(shape, channels), images_of(3, shape)
    extractor = ImpalaCnn.read(tensors_of(module), shape)
    seen = torch.from_numpy(np.moveaxis(images, 3, 1).copy()).requires_grad_()
    theirs, ours = module(seen), extractor.apply(images)
    assert ours.shape == (3, extractor.width) == (3, FEATURES)
    assert ours.any()
    np.testing.assert_allclose(ours, theirs.detach().numpy(), atol=1e-5)
    gradient = np.random.default_rng(1).standard_normal(ours.shape).astype(np.float32)
    theirs.backward(torch.from_numpy(gradient))
    np.testing.assert_allclose(np.moveaxis(extractor.pull(gradient, images), 3, 1), seen.grad.numpy(), atol=1e-5)


def test_features_and_gradients_have_the_same_bits_in_any_number_of_lanes():
    extractor, images = ImpalaCnn.read(tensors_of(network()), SHAPE), images_of(16)
    together, slopes = extractor.apply(images), extractor.pull(np.ones((16, FEATURES)), images)
    for lanes in (1, 2, 7, 15):
        for start in range(0, 17 - lanes, 3):
            rows = slice(start, start + lanes)
            assert np.array_equal(extractor.apply(images[rows]), together[rows])
            assert np.array_equal(extractor.pull(np.ones((lanes, FEATURES)), images[rows]), slopes[rows])


def test_images_remain_as_they_are():
    extractor, images = ImpalaCnn.read(tensors_of(network()), SHAPE), images_of(2)
    before = images.copy()
    extractor.pull(np.ones((2, FEATURES)), images)
    assert np.array_equal(images, before)


def test_it_is_recognised_by_names_and_shapes():
    tensors = tensors_of(network())
    assert NatureCnn.read(tensors, SHAPE) is None
    assert ImpalaCnn.read({}, SHAPE) is None
    for shape in ((3, 40, 17), (1, 20, 17)):
        assert ImpalaCnn.read(tensors, shape) is None
    for name in tensors:
        assert ImpalaCnn.read({key: array for key, array in tensors.items() if key != name}, SHAPE) is None
        assert ImpalaCnn.read(tensors | {name: tensors[name][..., None]}, SHAPE) is None
        assert ImpalaCnn.read(tensors | {name: np.float32(0)}, SHAPE) is None
    assert ImpalaCnn.read(tensors | {"stages.3.convolution.weight": np.zeros(1)}, SHAPE) is None


def test_the_names_in_a_file_are_those_of_the_classes():
    from brittlestar.training.impala import ImpalaCNN, ImpalaCombinedExtractor

    assert f"{ImpalaCNN.__module__}.{ImpalaCNN.__name__}" == ImpalaCnn.name
    name = f"{ImpalaCombinedExtractor.__module__}.{ImpalaCombinedExtractor.__name__}"
    assert read_extractors({}, spaces.Box(-1.0, 1.0, (2,)), name) == {}
    assert isinstance(
        read_extractors(
            {f"features_extractor.{key}": array for key, array in tensors_of(network()).items()},
            spaces.Box(0, 255, SHAPE, np.uint8),
            ImpalaCnn.name,
        )[""],
        ImpalaCnn,
    )
