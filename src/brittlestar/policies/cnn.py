"""Networks that turn images into features, in plain numpy."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from brittlestar.policies.convolutions import Convolution

Tensors = Mapping[str, np.ndarray]


class Extractor:
    """Turns images `(lanes, height, width, channels)` into features `(lanes, width)`, equal for any number of lanes.

    A subclass sets `name` and implements the four methods. `EXTRACTORS` in `extractors.py` lists it.
    """

    name: ClassVar[str] = ""
    """Module and class in Stable-Baselines3 or another package, as a checkpoint names it."""

    @classmethod
    def read(cls, tensors: Tensors, shape: tuple[int, ...]) -> Self | None:
        """Returns the extractor of images `(channels, height, width)`; None if the tensors belong to another one."""
        raise NotImplementedError

    @property
    def width(self) -> int:
        """Number of features."""
        raise NotImplementedError

    def apply(self, images: np.ndarray) -> np.ndarray:
        """Returns the features."""
        raise NotImplementedError

    def pull(self, gradient: np.ndarray, images: np.ndarray) -> np.ndarray:
        """Returns the gradient of the images from that of the features."""
        raise NotImplementedError


class FlatImage(Extractor):
    """All pixels in one row, channel by channel, as in a policy of Stable-Baselines3 without convolutions.

    Example:
        >>> FlatImage((2, 1, 2)).apply(np.arange(4.0).reshape(1, 1, 2, 2)).tolist()
        [[0.0, 2.0, 1.0, 3.0]]
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        self._shape = shape

    @classmethod
    def read(cls, tensors: Tensors, shape: tuple[int, ...]) -> Self | None:
        return None if tensors else cls(shape)

    @property
    def width(self) -> int:
        return math.prod(self._shape)

    def apply(self, images: np.ndarray) -> np.ndarray:
        return np.moveaxis(images, 3, 1).reshape(len(images), -1)

    def pull(self, gradient: np.ndarray, images: np.ndarray) -> np.ndarray:
        return np.moveaxis(gradient.reshape(-1, *self._shape), 1, 3)


@dataclass(frozen=True)
class DenseLayer:
    """Computes `max(images @ weights + biases, 0)`: the features, from the last images."""

    weights: np.ndarray
    """`(numbers, features)`; the numbers are in the order rows, columns, channels."""
    biases: np.ndarray
    """`(features,)`."""

    @classmethod
    def of_torch(cls, weights: np.ndarray, biases: np.ndarray, shape: tuple[int, ...]) -> Self:
        """Takes the tensors of a `torch.nn.Linear` after images `(channels, rows, columns)`."""
        # Torch flattens channel by channel, `apply` pixel by pixel.
        matrix = weights.reshape(-1, *shape).transpose(2, 3, 1, 0).reshape(math.prod(shape), -1)
        return cls(matrix.astype(np.float32, order="C"), biases.astype(np.float32))

    def apply(self, images: np.ndarray) -> np.ndarray:
        """Returns `(lanes, features)`."""
        # One vector-matrix product per lane, as in `MlpPolicy`.
        features = np.matmul(images.reshape(len(images), 1, -1), self.weights)[:, 0]
        features += self.biases
        return np.maximum(features, 0.0, out=features)

    def pull(self, gradient: np.ndarray, images: np.ndarray) -> np.ndarray:
        """Returns the gradient of the images from that of the features."""
        slope = (gradient * (self.apply(images) > 0)).astype(np.float32)
        return np.matmul(slope[:, None], np.ascontiguousarray(self.weights.T)).reshape(images.shape)


class NatureCnn(Extractor):
    """Three convolutions and a linear layer, each followed by `max(x, 0)`: `NatureCNN` of Stable-Baselines3."""

    name = "stable_baselines3.common.torch_layers.NatureCNN"
    layers: ClassVar[dict[str, tuple[int, int, int]]] = {"cnn.0": (32, 8, 4), "cnn.2": (64, 4, 2), "cnn.4": (64, 3, 1)}
    """Channels, size of the kernel and stride of each convolution; the strides are not in a checkpoint."""

    def __init__(self, convolutions: list[Convolution], dense: DenseLayer) -> None:
        self._convolutions, self._dense = convolutions, dense

    @classmethod
    def read(cls, tensors: Tensors, shape: tuple[int, ...]) -> Self | None:
        shapes, last = cls._expected(tensors, shape)
        if min(last) < 1 or {name: array.shape for name, array in tensors.items()} != shapes:
            return None
        convolutions = [
            Convolution.of_torch(tensors[f"{name}.weight"], tensors[f"{name}.bias"], stride)
            for name, (_, _, stride) in cls.layers.items()
        ]
        return cls(convolutions, DenseLayer.of_torch(tensors["linear.0.weight"], tensors["linear.0.bias"], last))

    @classmethod
    def _expected(cls, tensors: Tensors, shape: tuple[int, ...]) -> tuple[dict[str, tuple[int, ...]], tuple[int, ...]]:
        """Returns the shapes of all tensors by name, and that of the last images."""
        shapes: dict[str, tuple[int, ...]] = {}
        for name, (_, size, stride) in cls.layers.items():
            channels = cls._channels(tensors, name)
            shapes[f"{name}.weight"], shapes[f"{name}.bias"] = (channels, shape[0], size, size), (channels,)
            shape = (channels, *((length - size) // stride + 1 for length in shape[1:]))
        # The user sets the number of features.
        features = np.shape(tensors.get("linear.0.weight", ()))[:1]
        return shapes | {"linear.0.weight": (*features, math.prod(shape)), "linear.0.bias": features}, shape

    @classmethod
    def _channels(cls, tensors: Tensors, name: str) -> int:
        return cls.layers[name][0]

    @property
    def width(self) -> int:
        return len(self._dense.biases)

    def apply(self, images: np.ndarray) -> np.ndarray:
        return self._dense.apply(self._activations(images)[-1])

    def pull(self, gradient: np.ndarray, images: np.ndarray) -> np.ndarray:
        seen = [images, *self._activations(images)]
        back = self._dense.pull(gradient, seen[-1])
        for convolution in reversed(self._convolutions):
            back = convolution.pull(back * (seen.pop() > 0), seen[-1])
        return back

    def _activations(self, images: np.ndarray) -> list[np.ndarray]:
        """Returns the outputs of every convolution."""
        outputs = []
        for convolution in self._convolutions:
            images = convolution.apply(images)
            outputs.append(np.maximum(images, 0.0, out=images))
        return outputs


class CentredCnn(NatureCnn):
    """`NatureCnn` with other numbers of channels, on `(images - centre) / spread`.

    It is `CentredCNN` of `brittlestar.training.centred`. The first convolution has no padding, so its weights take in
    centre and spread.
    """

    name = "brittlestar.training.centred.CentredCNN"

    @classmethod
    def read(cls, tensors: Tensors, shape: tuple[int, ...]) -> Self | None:
        if np.shape(tensors.get("scaling", ())) != (2,):
            return None
        inner = {name: array for name, array in tensors.items() if name != "scaling"}
        if not {"cnn.0.weight", "cnn.0.bias"} <= set(inner) or np.ndim(inner["cnn.0.weight"]) != 4:
            return None
        centre, spread = tensors["scaling"]
        weights = inner["cnn.0.weight"] / spread
        biases = inner["cnn.0.bias"] - centre * weights.sum(axis=(1, 2, 3))
        return super().read(inner | {"cnn.0.weight": weights, "cnn.0.bias": biases}, shape)

    @classmethod
    def _channels(cls, tensors: Tensors, name: str) -> int:
        return int((*np.shape(tensors.get(f"{name}.bias", ())), 0)[0])
