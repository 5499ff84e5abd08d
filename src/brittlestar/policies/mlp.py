"""A multi-layer perceptron actor in plain numpy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from gymnasium import spaces

from brittlestar.errors import UserError, nearest
from brittlestar.policies.base import Observation
from brittlestar.policies.simple import Space, StatelessPolicy, describe
from brittlestar.randomness import LaneDraws, generator

Layer = tuple[np.ndarray, np.ndarray]
"""Weights `(inputs, outputs)` and biases `(outputs,)`."""

_ACTIVATIONS: dict[str, Callable[..., Any]] = {
    "tanh": np.tanh,
    "relu": lambda x, out: np.maximum(x, 0.0, out=out),
}
_OUTPUTS = ("clip", "tanh", "argmax")


class MlpPolicy(StatelessPolicy):
    """Computes `output(W_n ... activation(W_1 x + b_1) ... + b_n)` for all lanes.

    The action of a lane is the same bit for bit whatever the number of lanes and its place among them.

    Args:
        layers: weights `(inputs, outputs)` and biases of each layer, first to last.
        activation: `tanh` or `relu`, between the layers.
        output: `clip` to the bounds of the actions, `tanh` scaled to them, or `argmax` (discrete actions).

    Example:
        >>> policy = MlpPolicy([(np.array([[2.0], [0.0]]), np.array([0.5]))])
        >>> policy.predict(np.array([[0.1, 9.0], [3.0, 9.0]]))[0].round(2).tolist()
        [[0.7], [1.0]]
    """

    def __init__(self, layers: Sequence[Layer], activation: str = "tanh", output: str = "clip") -> None:
        for field, value, valid in (("activation", activation, _ACTIVATIONS), ("output", output, _OUTPUTS)):
            if value not in valid:
                raise UserError(f"`{field}` cannot be `{value}`; {nearest(value, valid)}")
        self._layers = _checked(layers)
        self._activation, self._output = _ACTIVATIONS[activation], output
        self._low, self._high = np.full((2, self.sizes[-1]), [[-1.0], [1.0]], dtype=np.float32)
        self._action_shape: tuple[int, ...] = (self.sizes[-1],)
        self._start = 0
        self._buffers: list[np.ndarray] = []

    @classmethod
    def random(cls, sizes: Sequence[int], seed: int = 0, activation: str = "tanh", output: str = "clip") -> MlpPolicy:
        """Returns a network with random weights, for example with `sizes=[17, 256, 256, 6]`."""
        rng = generator(seed, "mlp")
        layers = []
        for inputs, outputs in pairwise(sizes):
            weights = rng.standard_normal((inputs, outputs)) / np.sqrt(inputs)
            layers.append((weights.astype(np.float32), np.zeros(outputs, np.float32)))
        return cls(layers, activation, output)

    @property
    def sizes(self) -> list[int]:
        """Widths of the input, of the hidden layers and of the output."""
        return [len(self._layers[0][0]), *(len(biases) for _, biases in self._layers)]

    def bind(self, observation_space: Space, action_space: Space, draws: LaneDraws) -> None:
        """Checks that the network fits, and takes the bounds of the actions."""
        if _width(observation_space) != self.sizes[0]:
            raise UserError(f"the network takes {self.sizes[0]} numbers, got {describe(observation_space)}")
        if self._output == "argmax":
            self._bind_choices(action_space)
        else:
            self._bind_bounds(action_space)

    def _bind_choices(self, space: Space) -> None:
        if not isinstance(space, spaces.Discrete) or space.n != self.sizes[-1]:
            need = f"Discrete({self.sizes[-1]})"
            raise UserError(f"`output: argmax` needs actions {need}, got {describe(space)}")
        self._start = int(space.start)

    def _bind_bounds(self, space: Space) -> None:
        if not isinstance(space, spaces.Box) or np.prod(space.shape) != self.sizes[-1]:
            raise UserError(f"the network gives {self.sizes[-1]} numbers, but actions are {describe(space)}")
        if self._output == "tanh" and not space.is_bounded():
            raise UserError(f"`output: tanh` needs actions with bounds, got {' '.join(str(space).split())}")
        self._low, self._high, self._action_shape = space.low.ravel(), space.high.ravel(), space.shape

    def act(self, observation: Observation) -> np.ndarray:
        """Computes the actions; a dict is read in the order of its sorted keys."""
        is_dict = isinstance(observation, dict)
        parts = [observation[key] for key in sorted(observation)] if is_dict else [observation]
        lanes = len(parts[0])
        if not self._buffers or len(self._buffers[0]) != lanes:
            self._buffers = [np.empty((lanes, 1, size), self._layers[0][0].dtype) for size in self.sizes]
        flat = [part.reshape(lanes, 1, -1) for part in parts]
        np.concatenate(flat, axis=2, out=self._buffers[0], casting="same_kind")
        return self._decide(self._forward())

    def _forward(self) -> np.ndarray:
        last = len(self._layers) - 1
        for index, (weights, biases) in enumerate(self._layers):
            y = self._buffers[index + 1]
            # One vector-matrix product per lane. BLAS orders its sums by the number of rows and by the place
            # of a row, so one product over all lanes, or over blocks of 16, ties the bits of a lane to the
            # others. Blocks of 8 hold, and are 10-20 % faster, but change with the number of threads.
            np.matmul(self._buffers[index], weights, out=y)
            y += biases
            if index < last:
                self._activation(y, out=y)
        return self._buffers[-1][:, 0]

    def _decide(self, outputs: np.ndarray) -> np.ndarray:
        if self._output == "argmax":
            return np.asarray(outputs.argmax(axis=1) + self._start)
        if self._output == "tanh":
            actions = self._low + 0.5 * (np.tanh(outputs) + 1.0) * (self._high - self._low)
        else:
            actions = np.clip(outputs, self._low, self._high)
        return np.asarray(actions.reshape(-1, *self._action_shape))


def _checked(layers: Sequence[Layer]) -> list[Layer]:
    if not layers:
        raise UserError("`layers` must hold at least one (weights, biases), got none")
    arrays = [(np.asarray(weights), np.asarray(biases)) for weights, biases in layers]
    width = len(arrays[0][0])
    for index, (weights, biases) in enumerate(arrays):
        if weights.ndim != 2 or len(weights) != width or biases.shape != weights.shape[1:]:
            need, got = f"weights ({width}, n) and biases (n,)", f"{weights.shape} and {biases.shape}"
            raise UserError(f"`layers[{index}]` must be {need}, got {got}")
        width = weights.shape[1]
    dtype = np.result_type(np.float32, *(weights for weights, _ in arrays))
    # The order of the weights in memory decides the order of the sums too.
    return [(weights.astype(dtype, order="C"), biases.astype(dtype)) for weights, biases in arrays]


def _width(space: Space) -> int:
    parts = list(space.spaces.values()) if isinstance(space, spaces.Dict) else [space]
    if not all(isinstance(part, spaces.Box) for part in parts):
        return 0
    return sum(int(np.prod(part.shape or ())) for part in parts)
