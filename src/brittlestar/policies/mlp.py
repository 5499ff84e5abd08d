"""A multi-layer perceptron actor in plain numpy."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, Self

import numpy as np

from brittlestar.checkpoints.spaces_text import Space
from brittlestar.errors import UserError, require_choice
from brittlestar.policies.base import Answer, Masks, Moments, Observation, Policy, Prediction, Starts
from brittlestar.policies.features import FeatureInputs
from brittlestar.policies.gradients import SLOPES, through_layers
from brittlestar.policies.heads import Clipped, Greedy, Head, Layer, Squashed
from brittlestar.policies.inputs import Inputs, check_width
from brittlestar.policies.likelihoods import log_likelihood
from brittlestar.policies.recurrent import LstmInputs
from brittlestar.randomness import LaneDraws, generator

ACTIVATIONS: dict[str, Callable[..., Any]] = {
    "tanh": np.tanh,
    "relu": lambda x, out: np.maximum(x, 0.0, out=out),
    "leaky_relu": lambda x, out: np.copyto(out, np.where(x > 0, x, x * x.dtype.type(0.01))),
    "elu": lambda x, out: np.copyto(out, np.where(x > 0, x, np.expm1(np.minimum(x, 0.0)))),
    "sigmoid": lambda x, out: np.divide(1.0, 1.0 + np.exp(-x), out=out),
    "silu": lambda x, out: np.divide(x, 1.0 + np.exp(-x), out=out),
}
_OUTPUTS: dict[str, Callable[[], Head]] = {"clip": Clipped, "tanh": Squashed, "argmax": Greedy}


class MlpPolicy(Policy):
    """Computes `output(W_n ... activation(W_1 x + b_1) ... + b_n)` for all lanes.

    The action of a lane has the same bits for any number of lanes.

    Args:
        layers: weights `(inputs, outputs)` and biases of each layer, first to last.
        activation: `tanh`, `relu`, `leaky_relu`, `elu`, `sigmoid` or `silu`, between the layers.
        output: `clip` to the bounds of the actions, `tanh` scaled to them, `argmax` (discrete actions), or a head.
        inputs: turns observations into rows of numbers; by default it flattens them.

    Example:
        >>> policy = MlpPolicy([(np.array([[2.0], [0.0]]), np.array([0.5]))])
        >>> policy.predict(np.array([[0.1, 9.0], [3.0, 9.0]]))[0].round(2).tolist()
        [[0.7], [1.0]]
    """

    def __init__(
        self,
        layers: Sequence[Layer],
        activation: str = "tanh",
        output: str | Head = "clip",
        inputs: Inputs | FeatureInputs | LstmInputs | None = None,
    ) -> None:
        require_choice("activation", activation, ACTIVATIONS)
        if isinstance(output, str):
            require_choice("output", output, _OUTPUTS)
        self._layers = _checked(layers)
        self._activation, self._slope = ACTIVATIONS[activation], SLOPES[activation]
        self._head = _OUTPUTS[output]() if isinstance(output, str) else output
        self._inputs = inputs or Inputs()
        self._draws: LaneDraws | None = None
        self._buffers: list[np.ndarray] = []

    @classmethod
    def random(cls, sizes: Sequence[int], seed: int = 0, activation: str = "tanh", output: str = "clip") -> Self:
        """Returns a network with random weights, for example of `sizes=[17, 256, 256, 6]`."""
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

    @property
    def wants_masks(self) -> bool:
        return self._head.masked

    def statistics_of(self, observation_space: Space) -> dict[str, Moments]:
        return self._inputs.statistics_of(observation_space)

    def bind(self, observation_space: Space, action_space: Space, draws: LaneDraws) -> None:
        """Checks that the network fits the spaces, and takes the bounds of the actions."""
        check_width(self.sizes[0], self._inputs.bind(observation_space), observation_space)
        self._head.bind(action_space, self.sizes[-1])
        self._draws = draws

    def predict(self, observation: Observation, state: Any = None, episode_start: Starts = None,
                deterministic: bool = True, action_masks: Masks = None) -> Prediction:  # fmt: skip
        outputs, latent, state = self._evaluate(observation, state, episode_start)
        if action_masks is not None:
            outputs = self._head.mask(outputs, action_masks)
        return self._head.decide(outputs, latent, None if deterministic else self._draws), state

    def log_probability(
        self, actions: np.ndarray, observation: Observation, state: Any = None, episode_start: Starts = None
    ) -> np.ndarray | None:
        outputs, latent, _ = self._evaluate(observation, state, episode_start)
        return log_likelihood(self._head, actions, outputs, latent)

    def differentiate(self, observation: Observation, state: Any = None, episode_start: Starts = None) -> Answer:
        """Returns the deterministic outputs and the gradient function; all choices count as valid.

        Example:
            >>> policy = MlpPolicy([(np.array([[2.0], [0.0]]), np.array([0.5]))])
            >>> answer = policy.differentiate(np.array([[0.1, 9.0], [3.0, 9.0]]))
            >>> answer.outputs.round(2).tolist(), answer.pull(np.ones((2, 1)))[""].tolist()
            ([[0.7], [1.0]], [[2.0, 0.0], [0.0, 0.0]])
        """
        parts, _ = self._inputs.read(observation, state, episode_start)
        row = np.concatenate(parts, axis=1, dtype=self._layers[0][0].dtype, casting="same_kind")
        raw, pull = through_layers(self._layers, self._activation, self._slope, row)
        outputs, slope = self._head.differentiate(raw)
        return Answer(
            outputs, lambda gradient: self._inputs.pull(pull(gradient * slope), observation, state, episode_start)
        )

    def _evaluate(self, observation: Observation, state: Any, first: Starts) -> tuple[np.ndarray, np.ndarray, Any]:
        """Returns outputs and inputs of the last layer, and the next state."""
        parts, state = self._inputs.read(observation, state, first)
        lanes = len(parts[0])
        if not self._buffers or len(self._buffers[0]) != lanes:
            self._buffers = [np.empty((lanes, 1, size), self._layers[0][0].dtype) for size in self.sizes]
        np.concatenate(parts, axis=1, out=self._buffers[0][:, 0], casting="same_kind")
        return self._forward(), self._buffers[-2][:, 0], state

    def _forward(self) -> np.ndarray:
        last = len(self._layers) - 1
        for index, (weights, biases) in enumerate(self._layers):
            y = self._buffers[index + 1]
            # One vector-matrix product per lane. The order of BLAS's sums depends on the number of rows and on the
            # position of a row, so in a product over all lanes the bits of a lane depend on the others. Blocks of 8
            # lanes would be 10-20 % faster, but depend on the number of threads.
            np.matmul(self._buffers[index], weights, out=y)
            y += biases
            if index < last:
                self._activation(y, out=y)
        return self._buffers[-1][:, 0]


def _checked(layers: Sequence[Layer]) -> list[Layer]:
    if not layers:
        raise UserError("`layers` must hold at least one (weights, biases), got none")
    arrays = [(np.asarray(weights), np.asarray(biases)) for weights, biases in layers]
    width = len(arrays[0][0])
    for index, (weights, biases) in enumerate(arrays):
        if weights.ndim != 2 or len(weights) != width or biases.shape != weights.shape[1:]:
            shapes = f"weights ({width}, n) and biases (n,), got {weights.shape} and {biases.shape}"
            raise UserError(f"`layers[{index}]` must be {shapes}")
        width = weights.shape[1]
    dtype = np.result_type(np.float32, *(weights for weights, _ in arrays))
    # The memory order of the weights also decides the order of the sums.
    return [(weights.astype(dtype, order="C"), biases.astype(dtype)) for weights, biases in arrays]
