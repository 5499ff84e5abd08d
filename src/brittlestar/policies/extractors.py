"""Features extractors of image networks, recognised by the names and shapes of their tensors."""

import math
from collections.abc import Mapping
from typing import ClassVar, Self

import numpy as np
from gymnasium import spaces

from brittlestar.checkpoints.messages import printable
from brittlestar.checkpoints.spaces_text import Space
from brittlestar.errors import UserError
from brittlestar.policies.convolutions import Convolution
from brittlestar.policies.heads import Layer
from brittlestar.policies.input_entry import is_image

Tensors = Mapping[str, np.ndarray]

_SB3 = "stable_baselines3.common.torch_layers"
_WITHOUT_TENSORS = (f"{_SB3}.FlattenExtractor", f"{_SB3}.CombinedExtractor")
"""Extractors that have no tensors of their own."""
_OWNERS = (
    "pi_features_extractor.",
    *(f"{owner}features_extractor." for owner in ("actor.", "q_net.", "quantile_net.", "")),
)
"""Starts of the names of the actor's tensors. An actor that shares its extractor with the critic has the last one."""
_ENTRIES = "extractors."
"""Start of the names of an entry's tensors in `CombinedExtractor`."""


class Extractor:
    """Turns images `(lanes, height, width, channels)` into features `(lanes, width)`, equal for any number of lanes.

    A subclass sets `name` and implements the four methods. `EXTRACTORS` lists it.
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


class NatureCnn(Extractor):
    """Three convolutions and a linear layer, each followed by `max(x, 0)`: `NatureCNN` of Stable-Baselines3.

    Args:
        convolutions: first to last.
        linear: weights `(numbers, features)` and biases; numbers are in the order rows, columns, channels.
    """

    name = f"{_SB3}.NatureCNN"
    layers: ClassVar[dict[str, tuple[int, int, int]]] = {"cnn.0": (32, 8, 4), "cnn.2": (64, 4, 2), "cnn.4": (64, 3, 1)}
    """Channels, size of the kernel and stride of each convolution; the strides are not in a checkpoint."""

    def __init__(self, convolutions: list[Convolution], linear: Layer) -> None:
        self._convolutions, (self._weights, self._biases) = convolutions, linear

    @classmethod
    def read(cls, tensors: Tensors, shape: tuple[int, ...]) -> Self | None:
        shapes, last = cls._expected(tensors, shape)
        if min(last) < 1 or {name: array.shape for name, array in tensors.items()} != shapes:
            return None
        convolutions = [
            Convolution.of_torch(tensors[f"{name}.weight"], tensors[f"{name}.bias"], stride)
            for name, (_, _, stride) in cls.layers.items()
        ]
        # Torch flattens channel by channel, `apply` pixel by pixel.
        weights = tensors["linear.0.weight"].reshape(-1, *last).transpose(2, 3, 1, 0).reshape(math.prod(last), -1)
        return cls(convolutions, (weights.astype(np.float32, order="C"), tensors["linear.0.bias"].astype(np.float32)))

    @classmethod
    def _expected(cls, tensors: Tensors, shape: tuple[int, ...]) -> tuple[dict[str, tuple[int, ...]], tuple[int, ...]]:
        """Returns the shapes of all tensors by name, and that of the last images."""
        shapes: dict[str, tuple[int, ...]] = {}
        for name, (channels, size, stride) in cls.layers.items():
            shapes[f"{name}.weight"], shapes[f"{name}.bias"] = (channels, shape[0], size, size), (channels,)
            shape = (channels, *((length - size) // stride + 1 for length in shape[1:]))
        # The user sets the number of features.
        features = np.shape(tensors.get("linear.0.weight", ()))[:1]
        return shapes | {"linear.0.weight": (*features, math.prod(shape)), "linear.0.bias": features}, shape

    @property
    def width(self) -> int:
        return len(self._biases)

    def apply(self, images: np.ndarray) -> np.ndarray:
        return self._activations(images)[-1]

    def pull(self, gradient: np.ndarray, images: np.ndarray) -> np.ndarray:
        *seen, features = [images, *self._activations(images)]
        slope = (gradient * (features > 0)).astype(np.float32)
        back = np.matmul(slope[:, None], np.ascontiguousarray(self._weights.T)).reshape(seen[-1].shape)
        for convolution in reversed(self._convolutions):
            back = convolution.pull(back * (seen.pop() > 0), seen[-1].shape)
        return back

    def _activations(self, images: np.ndarray) -> list[np.ndarray]:
        """Returns the outputs of every layer, the features last."""
        outputs = []
        for convolution in self._convolutions:
            images = convolution.apply(images)
            outputs.append(np.maximum(images, 0.0, out=images))
        # One vector-matrix product per lane, as in `MlpPolicy`.
        features = np.matmul(images.reshape(len(images), 1, -1), self._weights)[:, 0]
        features += self._biases
        return [*outputs, np.maximum(features, 0.0, out=features)]


EXTRACTORS: tuple[type[Extractor], ...] = (NatureCnn,)
"""Extractors with tensors; the first that fits them is taken."""


def read_extractors(weights: Tensors, space: Space, name: str | None) -> dict[str, Extractor]:
    """Returns the extractors of the actor by entry of the observation; a plain observation has the key `""`.

    Entries of numbers have none. An unknown extractor is a `UserError` with the reason.

    Args:
        weights: all tensors of a checkpoint.
        space: observation space of the training.
        name: module and class of the extractor, if the checkpoint names it.
    """
    if name not in (None, *_WITHOUT_TENSORS, *(kind.name for kind in EXTRACTORS)):
        raise UserError(f"its features extractor {name} is not known")
    by_entry = _split(_own_tensors(weights), space)
    parts = space.spaces if isinstance(space, spaces.Dict) else {"": space}
    found = {key: _read(by_entry.get(key, {}), part) for key, part in parts.items()}
    return {key: extractor for key, extractor in found.items() if extractor is not None}


def _own_tensors(weights: Tensors) -> dict[str, np.ndarray]:
    for start in _OWNERS:
        if own := {name.removeprefix(start): array for name, array in weights.items() if name.startswith(start)}:
            return own
    return {}


def _split(tensors: Tensors, space: Space) -> dict[str, dict[str, np.ndarray]]:
    """Returns the tensors of each entry by the names that its extractor has by itself."""
    if not isinstance(space, spaces.Dict):
        return {"": dict(tensors)}
    by_entry: dict[str, dict[str, np.ndarray]] = {}
    for name, array in tensors.items():
        key, _, own = name.removeprefix(_ENTRIES).partition(".")
        if not name.startswith(_ENTRIES) or key not in space.spaces:
            raise _unknown({name: array})
        by_entry.setdefault(key, {})[own] = array
    return by_entry


def _read(tensors: Tensors, space: Space) -> Extractor | None:
    if not tensors:
        return FlatImage(space.shape) if is_image(space) and space.shape else None
    if isinstance(space, spaces.Box) and len(space.shape) == 3:
        for kind in EXTRACTORS:
            if (extractor := kind.read(tensors, space.shape)) is not None:
                return extractor
    raise _unknown(tensors)


def _unknown(tensors: Tensors) -> UserError:
    name, array = next(iter(tensors.items()))
    return UserError(f"its features extractor is not known (`{printable(name, 60)}` has shape {array.shape})")
