import os
import platform
import subprocess
import sys

import numpy as np
import pytest

from brittlestar.policies.convolutions import Convolution, MaxPool

SHAPES = [
    ((20, 17, 3), (8, 32), 4, 0),
    ((9, 9, 32), (4, 64), 2, 0),
    ((7, 8, 5), (3, 6), 1, 0),
    ((3, 3, 2), (3, 1), 1, 0),
    ((7, 8, 5), (3, 6), 1, 1),
    ((6, 5, 4), (5, 3), 2, 2),
]
"""Shape of an image, size and outputs of the kernel, stride, padding."""


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def made(shape, size, outputs, stride, padding=0):
    """A convolution, and its tensors in torch."""
    tensors = numbers(outputs, shape[-1], size, size) / size, numbers(outputs, seed=1)
    return Convolution.of_torch(*tensors, stride, padding), tensors


def test_table():
    edges = Convolution(np.array([[[[1.0, 0.0]], [[-1.0, 0.0]]]]), np.array([0.0, 0.5]))
    assert edges.apply(np.array([[[[3.0], [1.0], [5.0]]]])).tolist() == [[[[2.0, 0.5], [-4.0, 0.5]]]]


def assert_as_in_torch(layer, images, forward):
    torch = pytest.importorskip("torch")
    seen = torch.from_numpy(np.moveaxis(images, 3, 1).copy()).requires_grad_()
    theirs, ours = forward(torch, seen), layer.apply(images)
    np.testing.assert_allclose(np.moveaxis(ours, 3, 1), theirs.detach().numpy(), atol=1e-4)
    gradient = numbers(*ours.shape, seed=3)
    theirs.backward(torch.from_numpy(np.moveaxis(gradient, 3, 1).copy()))
    back = layer.pull(gradient, images)
    np.testing.assert_allclose(np.moveaxis(back, 3, 1), seen.grad.numpy(), atol=1e-4)


@pytest.mark.parametrize(("shape", "kernel", "stride", "padding"), SHAPES)
def test_outputs_and_gradients_are_those_of_torch(shape, kernel, stride, padding):
    convolution, tensors = made(shape, *kernel, stride, padding)

    def forward(torch, seen):
        return torch.nn.functional.conv2d(seen, *map(torch.from_numpy, tensors), stride, padding)

    assert_as_in_torch(convolution, numbers(3, *shape, seed=2), forward)


@pytest.mark.parametrize("shape", [(8, 6, 3), (7, 5, 2), (6, 7, 1), (2, 2, 1), (1, 3, 1), (1, 1, 2)])
@pytest.mark.parametrize("has_ties", [False, True])
def test_maxima_and_their_gradients_are_those_of_torch(shape, has_ties):
    images = np.round(numbers(4, *shape)) if has_ties else numbers(4, *shape)
    assert_as_in_torch(MaxPool(), images, lambda torch, seen: torch.max_pool2d(seen, 3, stride=2, padding=1))


@pytest.mark.parametrize(
    ("shape", "kernel", "stride", "padding"), [*SHAPES, ((84, 84, 4), (8, 32), 4, 0), ((61, 45, 12), (8, 32), 4, 0)]
)
def test_a_lane_is_the_same_in_every_place_of_every_batch(shape, kernel, stride, padding):
    convolution, _ = made(shape, *kernel, stride, padding)
    images = numbers(16, *shape)
    together = convolution.apply(images)
    for lanes in (1, 2, 7, 15):
        for start in range(0, 17 - lanes, 3):
            rows = slice(start, start + lanes)
            assert np.array_equal(convolution.apply(images[rows]), together[rows])


def test_channels_in_another_memory_order_make_no_difference():
    convolution, _ = made((20, 17, 3), 8, 32, 4)
    images = numbers(2, 20, 17, 3)
    assert np.array_equal(convolution.apply(images), convolution.apply(np.asfortranarray(images)))


_PRINT_DIGEST = """
import hashlib
import numpy as np
from brittlestar.policies.cnn import DenseLayer
from brittlestar.policies.convolutions import Convolution

rng = np.random.default_rng(0)
for shape, size, outputs, stride in (((84, 84, 4), 8, 32, 4), ((20, 20, 32), 4, 64, 2), ((9, 9, 64), 3, 64, 1)):
    weights = rng.standard_normal((outputs, shape[2], size, size))
    images = rng.standard_normal((4, *shape)).astype(np.float32)
    outputs = Convolution.of_torch(weights, np.zeros(outputs), stride).apply(images)
    print(hashlib.sha256(outputs.tobytes()).hexdigest())
images = rng.standard_normal((4, 32, 32, 16)).astype(np.float32)
inner = Convolution.of_torch(rng.standard_normal((32, 16, 3, 3)), np.zeros(32), padding=1).apply(images)
features = DenseLayer.of_torch(rng.standard_normal((256, inner[0].size)), np.zeros(256), (32, 32, 32)).apply(inner)
for outputs in (inner, features):
    print(hashlib.sha256(outputs.tobytes()).hexdigest())
"""


@pytest.mark.parametrize("processor", ["", "Haswell", "SkylakeX"])
def test_the_number_of_threads_makes_no_difference(processor):
    # On some processors, OpenBLAS sums in another order if it splits a product over threads.
    if processor and platform.machine() != "x86_64":
        pytest.skip("kernels of another processor")
    digests = []
    for threads in ("1", "2", "4"):
        settings = {"OPENBLAS_NUM_THREADS": threads, "OMP_NUM_THREADS": threads, "MKL_NUM_THREADS": threads}
        settings |= {"OPENBLAS_CORETYPE": processor} if processor else {}
        command = [sys.executable, "-c", _PRINT_DIGEST]
        done = subprocess.run(command, env=os.environ | settings, capture_output=True, text=True)
        if processor and done.returncode < 0:
            pytest.skip(f"this processor has not the instructions of {processor}")
        assert done.returncode == 0, done.stderr
        digests.append(done.stdout)
    assert len(digests[0].split()) == 5
    assert digests[0] == digests[1] == digests[2]
