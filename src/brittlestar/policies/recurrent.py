"""Inputs of a recurrent network: the output of an LSTM over all observations of the episode so far."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from brittlestar.checkpoints.spaces_text import Space, describe_space
from brittlestar.errors import UserError
from brittlestar.policies.base import Moments, Observation, Starts
from brittlestar.policies.features import FeatureInputs
from brittlestar.policies.heads import Layer
from brittlestar.policies.inputs import Inputs, width_hint

_TENSOR = re.compile(r"(weight|bias)_(ih|hh)_l\d+")
_GATES = 4


class LstmInputs:
    """An LSTM between the observations and a network: `h, c = lstm(x, h, c)` at each step, `h = c = 0` at the start.

    The memory of a lane has the same bits for any number of lanes.

    Args:
        inputs: turns observations into rows of numbers.
        layers: weights `(inputs + units, 4 units)` and biases `(4 units,)` of each layer, first to last; the columns
            are the input, forget, cell and output gates.

    Example:
        >>> from brittlestar.policies.inputs import Inputs
        >>> weights = np.array([[0.0, 0.0, 9.0, 0.0], [0.0, 0.0, 0.0, 0.0]])
        >>> memory = LstmInputs(Inputs(), [(weights, np.zeros(4))])
        >>> (first,), state = memory.read(np.ones((1, 1)), None, np.array([True]))
        >>> (second,), state = memory.read(np.ones((1, 1)), state, np.array([False]))
        >>> first.round(3).tolist(), second.round(3).tolist()
        ([[0.231]], [[0.318]])
    """

    def __init__(self, inputs: Inputs | FeatureInputs, layers: Sequence[Layer]) -> None:
        self._inputs = inputs
        self._layers = [_checked(index, *layer) for index, layer in enumerate(layers)]
        units = [len(biases) // _GATES for _, biases in self._layers]
        widths = [len(weights) - count for (weights, _), count in zip(self._layers, units, strict=True)]
        if not units or widths[1:] != units[:-1]:
            raise UserError(f"`layers` must each take the units of the one before, got inputs {widths}, units {units}")
        self._width, self._units = widths[0], units

    def bind(self, space: Space) -> int:
        """Checks the observation space and returns the number of units of the last layer."""
        width = self._inputs.bind(space)
        if width != self._width:
            hint = width_hint(self._width, width)
            raise UserError(f"the LSTM takes {self._width} numbers, got {width} of {describe_space(space)}{hint}")
        return self._units[-1]

    def statistics_of(self, space: Space) -> dict[str, Moments]:
        """Returns the statistics of the inputs."""
        return self._inputs.statistics_of(space)

    def read(self, observation: Observation, state: Any, first: Starts) -> tuple[list[np.ndarray], Any]:
        """Returns the output of the last layer and the state for the next step."""
        history, memory = state or (None, None)
        parts, history = self._inputs.read(observation, history, first)
        row = np.concatenate(parts, axis=1)
        after = []
        for layer, (hidden, cell) in zip(self._layers, self._recall(memory, len(row), first), strict=True):
            after.append(_step(_gates(*layer, row, hidden), cell))
            row = after[-1][0]
        return [row], (history, after)

    def pull(self, gradient: np.ndarray, observation: Observation, state: Any, first: Starts) -> dict[str, np.ndarray]:
        """Returns the gradient of the present observation; the memory of earlier ones is constant."""
        history, memory = state or (None, None)
        row = np.concatenate(self._inputs.read(observation, history, first)[0], axis=1)
        forward = []
        for layer, (hidden, cell) in zip(self._layers, self._recall(memory, len(row), first), strict=True):
            gates = _gates(*layer, row, hidden)
            forward.append((layer[0], gates, cell))
            row = _step(gates, cell)[0]
        for weights, gates, cell in reversed(forward):
            gradient = _pull(gradient.astype(weights.dtype), weights, gates, cell)
        return self._inputs.pull(gradient, observation, history, first)

    def _recall(self, memory: Any, lanes: int, first: Starts) -> list[tuple[np.ndarray, np.ndarray]]:
        """Returns hidden state and cell of each layer, zeros at the start of an episode."""
        if not memory:
            blanks = [np.zeros((lanes, units), self._layers[0][0].dtype) for units in self._units]
            return list(zip(blanks, blanks, strict=True))
        if first is None:
            return list(memory)
        start = first[:, None]
        return [tuple(np.where(start, part.dtype.type(0), part) for part in pair) for pair in memory]


def lstm_layers(weights: Mapping[str, np.ndarray], name: str) -> list[Layer]:
    """Returns the layers of a plain `torch.nn.LSTM` by its name; missing biases are 0."""
    tensors = {key.removeprefix(f"{name}."): array for key, array in weights.items() if key.startswith(f"{name}.")}
    for tensor in tensors:
        if not _TENSOR.fullmatch(tensor):
            raise UserError(f"`{name}` must be a plain LSTM, got one with `{tensor}`")
    layers = []
    for index in range(sum(tensor.startswith("weight_ih") for tensor in tensors)):
        kinds = [f"ih_l{index}", f"hh_l{index}"]
        for kind in kinds:
            if f"weight_{kind}" not in tensors:
                raise UserError(f"`{name}` must have `weight_{kind}`, got {', '.join(tensors)}")
        matrices = [tensors[f"weight_{kind}"] for kind in kinds]
        biases = [tensors.get(f"bias_{kind}", np.zeros(len(matrices[0]), np.float32)) for kind in kinds]
        layers.append((np.concatenate(matrices, axis=1).T, biases[0] + biases[1]))
    return layers


def _checked(index: int, weights: np.ndarray, biases: np.ndarray) -> Layer:
    units = len(biases) // _GATES
    if weights.ndim != 2 or biases.shape != (_GATES * units,) or weights.shape[1:] != biases.shape or not units:
        shapes = f"weights (n, 4 units) and biases (4 units,), got {weights.shape} and {biases.shape}"
        raise UserError(f"`layers[{index}]` must be {shapes}")
    if len(weights) <= units:
        raise UserError(f"`layers[{index}]` must take more than its {units} units, got {len(weights)} rows")
    # The logistic function of x is (tanh(x / 2) + 1) / 2, and halving a float is exact. So one tanh computes all gates,
    # and none overflows.
    halves = np.repeat(np.array([0.5, 0.5, 1.0, 0.5]), units)
    dtype = np.result_type(np.float32, weights)
    return (weights * halves).astype(dtype, order="C"), (biases * halves).astype(dtype)


def _gates(weights: np.ndarray, biases: np.ndarray, row: np.ndarray, hidden: np.ndarray) -> np.ndarray:
    both = np.concatenate([row, hidden], axis=1, dtype=weights.dtype, casting="same_kind")
    # One vector-matrix product per lane, as in `MlpPolicy`.
    gates = np.matmul(both[:, None], weights)[:, 0]
    gates += biases
    return np.asarray(np.tanh(gates, out=gates))


def _step(gates: np.ndarray, cell: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    into, forget, new, out = np.split(gates, _GATES, axis=1)
    cell = (0.5 * forget + 0.5) * cell + (0.5 * into + 0.5) * new
    return (0.5 * out + 0.5) * np.tanh(cell), cell


def _pull(gradient: np.ndarray, weights: np.ndarray, gates: np.ndarray, before: np.ndarray) -> np.ndarray:
    """Returns the gradient of a layer's input from that of its output `h`."""
    into, _, new, out = np.split(gates, _GATES, axis=1)
    cell = np.tanh(_step(gates, before)[1])
    to_cell = gradient * (0.5 * out + 0.5) * (1.0 - cell * cell)
    to_gates = [to_cell * 0.5 * new, to_cell * 0.5 * before, to_cell * (0.5 * into + 0.5), gradient * 0.5 * cell]
    back = np.concatenate(to_gates, axis=1) * (1.0 - gates * gates)
    inputs = len(weights) - cell.shape[1]
    return np.asarray(np.matmul(back[:, None], np.ascontiguousarray(weights[:inputs].T))[:, 0])
