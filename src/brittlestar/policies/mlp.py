"""A multi-layer perceptron actor in plain numpy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.spaces.utils import flatdim

from brittlestar.errors import UserError, nearest
from brittlestar.policies.base import Observation, Policy
from brittlestar.policies.simple import describe
from brittlestar.randomness import LaneDraws, generator

Layer = tuple[np.ndarray, np.ndarray]
"""Weights `(inputs, outputs)` and biases `(outputs,)`."""

_ACTIVATIONS: dict[str, Callable[..., Any]] = {
    "tanh": np.tanh,
    "relu": lambda x, out: np.maximum(x, 0.0, out=out),
}
_OUTPUTS = ("clip", "tanh", "argmax")
_BLOCK = 8


class MlpPolicy(Policy):
    """Computes `output(W_n ... activation(W_1 x + b_1) ... + b_n)` for all lanes at once.

    The action of a lane is the same bit for bit whatever the number of lanes and its place among them.

    Args:
        layers: weights `(inputs, outputs)` and biases of each layer, first to last.
        activation: `tanh` or `relu`, between the layers.
        output: `clip` to the bounds of the action space, `tanh` scaled to them, or `argmax` for discrete actions.

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
        self._low, self._high, self._start = np.float32(-1.0), np.float32(1.0), 0
        self._action_shape: tuple[int, ...] | None = None
        # BLAS picks its kernel, and so the order of a sum, by the number of rows: a product over all lanes
        # would change with their number. Blocks of a fixed size always meet the same kernel. Within a block of
        # 8 the place of a row makes no difference on the processors tried; rows one by one never can.
        self._block = _BLOCK if all(_is_even(weights) for weights, _ in self._layers) else 1
        self._buffers: list[np.ndarray] = []

    @classmethod
    def random(
        cls, sizes: Sequence[int], seed: int = 0, activation: str = "tanh", output: str = "clip"
    ) -> MlpPolicy:
        """Returns a network with random weights, for example `sizes=[17, 256, 256, 6]`."""
        rng = generator(seed, "mlp")
        shapes = list(pairwise(sizes))
        weights = [rng.standard_normal(shape, dtype=np.float32) / np.float32(shape[0] ** 0.5) for shape in shapes]
        layers = [(w, 0.1 * rng.standard_normal(w.shape[1], dtype=np.float32)) for w in weights]
        return cls(layers, activation, output)

    @property
    def sizes(self) -> list[int]:
        """Widths of the input, of the hidden layers and of the output."""
        return [len(self._layers[0][0]), *(len(biases) for _, biases in self._layers)]

    def bind(self, observation_space: spaces.Space, action_space: spaces.Space, draws: LaneDraws) -> None:
        if _width(observation_space) != self.sizes[0]:
            raise UserError(f"the network takes {self.sizes[0]} inputs, got {describe(observation_space)}")
        if self._output == "argmax":
            self._bind_choices(action_space)
        else:
            self._bind_bounds(action_space)

    def _bind_choices(self, space: spaces.Space) -> None:
        if not isinstance(space, spaces.Discrete) or space.n != self.sizes[-1]:
            raise UserError(f"`output: argmax` needs actions Discrete({self.sizes[-1]}), got {describe(space)}")
        self._start = int(space.start)

    def _bind_bounds(self, space: spaces.Space) -> None:
        if not isinstance(space, spaces.Box) or np.prod(space.shape) != self.sizes[-1]:
            raise UserError(f"the network gives {self.sizes[-1]} numbers, got actions {describe(space)}")
        if self._output == "tanh" and not space.is_bounded():
            raise UserError(f"`output: tanh` needs actions with bounds, got {' '.join(str(space).split())}")
        self._low, self._high = space.low.ravel(), space.high.ravel()
        self._action_shape = space.shape

    def predict(
        self,
        observation: Observation,
        state: Any = None,
        episode_start: np.ndarray | None = None,
        deterministic: bool = True,
    ) -> tuple[np.ndarray, Any]:
        parts = [observation[key] for key in sorted(observation)] if isinstance(observation, dict) else [observation]
        lanes = len(parts[0])
        self._allocate(lanes)
        inputs, column = _rows(self._buffers[0], lanes), 0
        for part in parts:
            flat = part.reshape(lanes, -1)
            inputs[:, column : column + flat.shape[1]] = flat
            column += flat.shape[1]
        return self._act(_rows(self._forward(), lanes)), state

    def _allocate(self, lanes: int) -> None:
        blocks = -(-lanes // self._block)
        if not self._buffers or len(self._buffers[0]) != blocks:
            dtype = self._layers[0][0].dtype
            self._buffers = [np.zeros((blocks, self._block, size), dtype) for size in self.sizes]

    def _forward(self) -> np.ndarray:
        *hidden, (weights, biases) = self._layers
        for (w, b), x, y in zip(hidden, self._buffers, self._buffers[1:], strict=False):
            np.matmul(x, w, out=y)
            y += b
            self._activation(y, out=y)
        np.matmul(self._buffers[-2], weights, out=self._buffers[-1])
        self._buffers[-1] += biases
        return self._buffers[-1]

    def _act(self, outputs: np.ndarray) -> np.ndarray:
        if self._output == "argmax":
            return np.asarray(outputs.argmax(axis=1) + self._start)
        if self._output == "tanh":
            actions = self._low + 0.5 * (np.tanh(outputs) + 1.0) * (self._high - self._low)
        else:
            actions = np.clip(outputs, self._low, self._high)
        return actions if self._action_shape is None else actions.reshape(-1, *self._action_shape)


def _checked(layers: Sequence[Layer]) -> list[Layer]:
    if not layers:
        raise UserError("`layers` must hold at least one (weights, biases), got none")
    arrays = [(np.ascontiguousarray(w), np.ascontiguousarray(b)) for w, b in layers]
    width = len(arrays[0][0])
    for index, (w, b) in enumerate(arrays):
        if w.ndim != 2 or len(w) != width or b.shape != w.shape[1:]:
            expected = f"weights ({width}, n) and biases (n,)"
            raise UserError(f"`layers[{index}]` must be {expected}, got {w.shape} and {b.shape}")
        width = w.shape[1]
    dtype = np.result_type(np.float32, *(w.dtype for w, _ in arrays))
    return [(w.astype(dtype), b.astype(dtype)) for w, b in arrays]


def _is_even(weights: np.ndarray) -> bool:
    """Whether equal rows of a block give equal results in every place."""
    row = generator(0, "mlp/probe").standard_normal(len(weights)).astype(weights.dtype)
    product = np.matmul(np.tile(row, (_BLOCK, 1)), weights)
    return bool((product == product[0]).all())


def _rows(blocks: np.ndarray, lanes: int) -> np.ndarray:
    return blocks.reshape(-1, blocks.shape[-1])[:lanes]


def _width(space: spaces.Space) -> int:
    if isinstance(space, spaces.Dict):
        return sum(_width(part) for part in space.spaces.values())
    return int(np.prod(space.shape)) if isinstance(space, spaces.Box) else flatdim(space)
