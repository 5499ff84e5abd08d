"""Training with a network that sees differences from one brightness."""

import numpy as np
import pytest
from gymnasium import spaces

from brittlestar.policies.cnn import CentredCnn, NatureCnn
from brittlestar.policies.extractors import read_extractors

torch = pytest.importorskip("torch")
pytest.importorskip("stable_baselines3")

SHAPE, FEATURES = (4, 44, 40), 9
SPACE = spaces.Box(0, 255, SHAPE, np.uint8)


def network(**options):
    from brittlestar.training.centred import CentredCNN

    torch.manual_seed(0)
    return CentredCNN(SPACE, FEATURES, **{"channels": (3, 5, 6), "centre": 0.3, "spread": 0.4} | options)


def tensors_of(module):
    return {name: tensor.numpy() for name, tensor in module.state_dict().items()}


def images_of(lanes):
    return np.random.default_rng(0).random((lanes, *SHAPE[1:], SHAPE[0])).astype(np.float32)


def test_features_and_gradients_without_torch_are_those_of_torch():
    module, images = network(), images_of(3)
    extractor = CentredCnn.read(tensors_of(module), SHAPE)
    seen = torch.from_numpy(np.moveaxis(images, 3, 1).copy()).requires_grad_()
    theirs, ours = module(seen), extractor.apply(images)
    assert ours.shape == (3, extractor.width) == (3, FEATURES)
    assert ours.any()
    np.testing.assert_allclose(ours, theirs.detach().numpy(), atol=1e-5)
    gradient = np.random.default_rng(1).standard_normal(ours.shape).astype(np.float32)
    theirs.backward(torch.from_numpy(gradient))
    np.testing.assert_allclose(np.moveaxis(extractor.pull(gradient, images), 3, 1), seen.grad.numpy(), atol=1e-5)


def test_features_have_the_same_bits_in_any_number_of_lanes():
    extractor, images = CentredCnn.read(tensors_of(network()), SHAPE), images_of(8)
    assert (extractor.apply(images)[:1] == extractor.apply(images[:1])).all()


def test_the_background_adds_nothing_to_the_biases():
    background = torch.full((1, *SHAPE), 0.3)
    dark = torch.zeros(1, *SHAPE)
    assert torch.allclose(network()(background), network(centre=0.0)(dark))


def test_it_is_recognised_by_its_tensors():
    tensors = {f"features_extractor.{name}": array for name, array in tensors_of(network()).items()}
    assert type(read_extractors(tensors, SPACE, CentredCnn.name)[""]) is CentredCnn
    assert NatureCnn.read(tensors_of(network()), SHAPE) is None


@pytest.mark.parametrize("missing", ["scaling", "cnn.0.weight", "cnn.0.bias", "cnn.2.bias", "linear.0.weight"])
def test_a_network_without_one_tensor_is_another_one(missing):
    tensors = {name: array for name, array in tensors_of(network()).items() if name != missing}
    assert CentredCnn.read(tensors, SHAPE) is None
