"""Features of images between the observations and the layers of a network."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import spaces

from brittlestar.checkpoints.spaces_text import Space, describe_space
from brittlestar.policies.base import Moments, Observation, Starts
from brittlestar.policies.cnn import Extractor
from brittlestar.policies.input_entry import image_refusal, is_image
from brittlestar.policies.inputs import Inputs, check_width

_BLOCK_LANES = 8
"""Most lanes at once: windows of images need about 0.5 MB per lane and layer."""


class FeatureInputs:
    """Replaces the images among the inputs by their features; numbers remain.

    Args:
        inputs: turns observations into rows of numbers, which hold the pixels of an image.
        space: observation space of the training.
        extractors: by entry of the observation; a plain observation has the key `""`.
        scaled: whether bytes are divided by 255.

    Example:
        >>> from brittlestar.policies.cnn import FlatImage
        >>> space = spaces.Box(0, 255, (1, 1, 2), np.uint8)
        >>> features = FeatureInputs(Inputs(), space, {"": FlatImage(space.shape)})
        >>> features.read(np.array([[[[51, 255]]]], np.uint8), None, None)[0][0].round(2)
        array([[0.2, 1. ]], dtype=float32)
    """

    def __init__(self, inputs: Inputs, space: Space, extractors: Mapping[str, Extractor], scaled: bool = True) -> None:
        parts = dict(space.spaces) if isinstance(space, spaces.Dict) else {"": space}
        if isinstance(space, spaces.Dict):
            inputs.keys = inputs.keys or list(parts)
        self._inputs, self._space = inputs, space
        self._images = {key: _Images(parts[key], extractor, scaled) for key, extractor in extractors.items()}
        self._entries = [self._images.get(key) for key in parts]

    def bind(self, space: Space) -> int:
        """Checks the observation space and returns the number of features and other inputs."""
        width = self._inputs.bind(space)
        for key, images in self._images.items():
            part = space.spaces[key] if key and isinstance(space, spaces.Dict) else space
            images.bind(self._inputs.shape_of(key), part)
        trained = Inputs(self._inputs.keys).bind(self._space)
        check_width(trained, width, space)
        return width + sum(images.surplus for images in self._images.values())

    def statistics_of(self, space: Space) -> dict[str, Moments]:
        """Returns the statistics of the inputs."""
        return self._inputs.statistics_of(space)

    def read(self, observation: Observation, state: Any, first: Starts) -> tuple[list[np.ndarray], Any]:
        """Returns the features and other inputs by entry, and the state for the next step."""
        parts, state = self._inputs.read(observation, state, first)
        pairs = zip(self._entries, parts, strict=True)
        return [part if images is None else images.apply(part) for images, part in pairs], state

    def pull(self, gradient: np.ndarray, observation: Observation, state: Any, first: Starts) -> dict[str, np.ndarray]:
        """Returns the gradient of the present observation, by entry; bytes have none."""
        parts, _ = self._inputs.read(observation, state, first)
        rows, start = [], 0
        for images, part in zip(self._entries, parts, strict=True):
            end = start + (part.shape[1] if images is None else images.width)
            slope, start = gradient[:, start:end], end
            rows.append(slope if images is None else images.pull(slope, part))
        return self._inputs.pull(np.concatenate(rows, axis=1), observation, state, first)


class _Images:
    """One entry of images: from rows of pixels, in the layout of the environment, to features."""

    def __init__(self, space: Space, extractor: Extractor, scaled: bool) -> None:
        self._space, self._extractor = space, extractor
        self._divisor = np.float32(255 if scaled and is_image(space) else 1)
        self._shape = space.shape or ()
        self._channels_last = False
        self.width = extractor.width
        self.surplus = self.width - int(np.prod(self._shape))
        """How many more numbers the features are than the pixels."""

    def bind(self, shape: tuple[int, ...], space: Space) -> None:
        """Takes the shape of the images, with stacked frames; channels may come last, as in `VecTransposeImage`."""
        trained = self._space.shape or ()
        self._channels_last = shape != trained and is_image(self._space) and (*shape[-1:], *shape[:-1]) == trained
        if shape != trained and not self._channels_last:
            raise image_refusal(self._space, describe_space(space) if len(shape) == 1 else f"Box{shape}")
        self._shape = shape

    def apply(self, rows: np.ndarray) -> np.ndarray:
        blocks = [rows[start : start + _BLOCK_LANES] for start in range(0, len(rows), _BLOCK_LANES)]
        return np.concatenate([self._extractor.apply(self._images(block)) for block in blocks])

    def pull(self, gradient: np.ndarray, rows: np.ndarray) -> np.ndarray:
        if not np.issubdtype(rows.dtype, np.floating):
            return np.zeros(rows.shape, np.float32)
        back = self._extractor.pull(gradient, self._images(rows)) / self._divisor
        return (back if self._channels_last else np.moveaxis(back, 3, 1)).reshape(rows.shape)

    def _images(self, rows: np.ndarray) -> np.ndarray:
        """Returns images with channels last, as the network takes them."""
        images = rows.reshape(len(rows), *self._shape)
        images = images if self._channels_last else np.moveaxis(images, 1, 3)
        return np.divide(images, self._divisor, dtype=np.float32, order="C")
