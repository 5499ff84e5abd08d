"""The residual network of IMPALA (Espeholt et al. 2018) in plain numpy."""

import itertools
import math
from dataclasses import dataclass
from typing import Self

import numpy as np

from brittlestar.policies.cnn import DenseLayer, Extractor, Tensors
from brittlestar.policies.convolutions import Convolution, MaxPool

_BLOCKS = ("blocks.0", "blocks.1")


@dataclass(frozen=True)
class ResidualBlock:
    """Computes `x + second(max(first(max(x, 0)), 0))`."""

    first: Convolution
    second: Convolution

    def apply(self, images: np.ndarray) -> np.ndarray:
        """Returns images of the same shape."""
        inner = self.first.apply(np.maximum(images, 0.0))
        outputs = self.second.apply(np.maximum(inner, 0.0, out=inner))
        outputs += images
        return outputs

    def pull(self, gradient: np.ndarray, images: np.ndarray) -> np.ndarray:
        """Returns the gradient of the images from that of the outputs."""
        inner = self.first.apply(np.maximum(images, 0.0))
        back = self.first.pull(self.second.pull(gradient, inner) * (inner > 0), images)
        return gradient + back * (images > 0)


class ImpalaCnn(Extractor):
    """Stages of a convolution, a maximum over 3 x 3 pixels and two residual blocks; then a linear layer.

    It is `ImpalaCNN` of `brittlestar.training.impala`. All convolutions have 3 x 3 pixels.
    """

    name = "brittlestar.training.impala.ImpalaCNN"

    def __init__(self, layers: list[Convolution | MaxPool | ResidualBlock], dense: DenseLayer) -> None:
        self._layers, self._dense = layers, dense

    @classmethod
    def read(cls, tensors: Tensors, shape: tuple[int, ...]) -> Self | None:
        shapes, last = cls._expected(tensors, shape)
        if {name: array.shape for name, array in tensors.items()} != shapes:
            return None
        layers: list[Convolution | MaxPool | ResidualBlock] = []
        for stage in _stages(tensors):
            blocks = (
                ResidualBlock(*(_convolution(tensors, f"{stage}.{block}.{part}") for part in ("first", "second")))
                for block in _BLOCKS
            )
            layers += [_convolution(tensors, f"{stage}.convolution"), MaxPool(), *blocks]
        return cls(layers, DenseLayer.of_torch(tensors["linear.weight"], tensors["linear.bias"], last))

    @classmethod
    def _expected(cls, tensors: Tensors, shape: tuple[int, ...]) -> tuple[dict[str, tuple[int, ...]], tuple[int, ...]]:
        """Returns the shapes of all tensors by name, and that of the last images; the user sets the channels."""
        shapes: dict[str, tuple[int, ...]] = {}
        for stage in _stages(tensors):
            channels = np.shape(tensors[f"{stage}.convolution.weight"])[:1]
            inner = [f"{stage}.{block}.{part}" for block in _BLOCKS for part in ("first", "second")]
            shapes |= dict.fromkeys((f"{name}.weight" for name in inner), (*channels, *channels, 3, 3))
            shapes |= dict.fromkeys((f"{name}.bias" for name in inner), channels)
            shapes |= {
                f"{stage}.convolution.weight": (*channels, shape[0], 3, 3),
                f"{stage}.convolution.bias": channels,
            }
            shape = (*channels, *(-(-side // 2) for side in shape[1:]))
        features = np.shape(tensors.get("linear.weight", ()))[:1]
        return shapes | {"linear.weight": (*features, math.prod(shape)), "linear.bias": features}, shape

    @property
    def width(self) -> int:
        return len(self._dense.biases)

    def apply(self, images: np.ndarray) -> np.ndarray:
        for layer in self._layers:
            images = layer.apply(images)
        return self._dense.apply(np.maximum(images, 0.0))

    def pull(self, gradient: np.ndarray, images: np.ndarray) -> np.ndarray:
        *seen, last = itertools.accumulate(self._layers, lambda seen, layer: layer.apply(seen), initial=images)
        back = self._dense.pull(gradient, np.maximum(last, 0.0)) * (last > 0)
        for layer in reversed(self._layers):
            back = layer.pull(back, seen.pop())
        return back


def _stages(tensors: Tensors) -> list[str]:
    names = (f"stages.{number}" for number in itertools.count())
    return list(itertools.takewhile(lambda name: f"{name}.convolution.weight" in tensors, names))


def _convolution(tensors: Tensors, name: str) -> Convolution:
    return Convolution.of_torch(tensors[f"{name}.weight"], tensors[f"{name}.bias"], padding=1)
