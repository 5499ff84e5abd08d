"""Exported networks: CleanRL state dicts, TorchScript, ONNX."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium import spaces

from brittlestar.checkpoints.files import existing, read_file
from brittlestar.checkpoints.spaces_text import Space
from brittlestar.checkpoints.weights import MAX_WEIGHT_BYTES, read_weights
from brittlestar.errors import UserError
from brittlestar.policies.base import Answer, DelegatingPolicy, Observation, Starts, StatelessPolicy, count_lanes
from brittlestar.policies.gradients import through_torch
from brittlestar.policies.heads import Clipped, Greedy, Head, Layer, Sampled, Squashed
from brittlestar.policies.inputs import Inputs
from brittlestar.policies.mlp import MlpPolicy
from brittlestar.policies.rebuilding import layer, stack
from brittlestar.randomness import LaneDraws

_CLEANRL_SPREAD = (-5.0, 2.0)


@dataclass
class CleanRlPolicy(DelegatingPolicy):
    """The actor of a CleanRL state dict; no code from the file runs."""

    path: str

    def __post_init__(self) -> None:
        file = existing(self.path)
        layers, activation, head = _cleanrl(read_weights(read_file(file, MAX_WEIGHT_BYTES), str(file)), self.path)
        self._policy = MlpPolicy(layers, activation, head)


def _cleanrl(weights: dict[str, np.ndarray], path: str) -> tuple[list[Layer], str, Head]:
    if any(array.ndim > 2 for array in weights.values()):
        raise UserError(f"{path} has convolutions, whose strides are not in the file: export it as TorchScript or ONNX")
    if "actor_mean.0.weight" in weights:
        return stack(weights, "actor_mean"), "tanh", Clipped(weights["actor_logstd"].ravel())
    if "actor.0.weight" in weights:
        return stack(weights, "actor"), "tanh", Sampled()
    if "network.0.weight" in weights:
        return stack(weights, "network"), "relu", Greedy()
    hidden = [layer(weights, name) for name in ("fc1", "fc2") if f"{name}.weight" in weights]
    if hidden and "fc_mean.weight" in weights:
        spread = layer(weights, "fc_logstd")
        return [*hidden, layer(weights, "fc_mean")], "relu", Squashed(spread, spread_range=_CLEANRL_SPREAD)
    if hidden and "fc_mu.weight" in weights:
        return [*hidden, layer(weights, "fc_mu")], "relu", Squashed()
    raise UserError(f"{path} is not the actor of a CleanRL script: it has {', '.join(list(weights)[:4])}, ...")


@dataclass
class _ExportedPolicy(StatelessPolicy):
    """A network, evaluated lane by lane, because the rounding of a batch depends on all its lanes."""

    path: str

    def bind(self, observation_space: Space, action_space: Space, draws: LaneDraws) -> None:
        self._inputs, self._space = Inputs(), action_space
        self._inputs.bind(observation_space)
        self._answer = self._load(str(existing(self.path)))

    def _load(self, path: str) -> Callable[[np.ndarray], np.ndarray]:
        raise NotImplementedError

    def act(self, observation: Observation) -> np.ndarray:
        """Evaluates the network for each lane; float outputs for a discrete action are its scores."""
        row = self._row(observation)
        answers = np.stack([self._answer(row[lane : lane + 1])[0] for lane in range(count_lanes(observation))])
        if np.issubdtype(self._space.dtype, np.integer) and answers.ndim == 2 and answers.dtype.kind == "f":
            return np.asarray(answers.argmax(axis=1) + getattr(self._space, "start", 0))
        if isinstance(self._space, spaces.Box):
            answers = np.clip(answers.reshape(-1, *self._space.shape), self._space.low, self._space.high)
        return answers

    def _row(self, observation: Observation) -> np.ndarray:
        return np.concatenate(self._inputs.read(observation, None, None)[0], axis=1).astype(np.float32)


class TorchScriptPolicy(_ExportedPolicy):
    """A network of `torch.jit.save` that maps rows of numbers to actions or scores."""

    def _load(self, path: str) -> Callable[[np.ndarray], np.ndarray]:
        import torch

        torch.set_num_threads(1)
        try:
            with warnings.catch_warnings():
                # torch warns that the format is deprecated, which the user cannot change here.
                warnings.simplefilter("ignore")
                network = torch.jit.load(path, map_location="cpu").eval()
        except RuntimeError as error:
            raise UserError(f"{path} is not a TorchScript file: {str(error).splitlines()[0]}") from None
        self._network = network

        def answer(row: np.ndarray) -> np.ndarray:
            with torch.no_grad():
                return np.asarray(network(torch.from_numpy(row)).numpy())

        return answer

    def differentiate(self, observation: Observation, state: Any = None, episode_start: Starts = None) -> Answer:
        """Returns the outputs and the gradient function of torch."""
        import torch

        bounds = None
        if isinstance(self._space, spaces.Box):
            bounds = [torch.from_numpy(bound.ravel()) for bound in (self._space.low, self._space.high)]

        def network(row: dict[str, Any]) -> Any:
            answers = self._network(row[""]).reshape(-1)
            return torch.clip(answers, *bounds) if bounds else answers

        answer = through_torch(network, {"": self._row(observation)}, self.path)
        return Answer(answer.outputs, lambda g: self._inputs.pull(answer.pull(g)[""], observation, None, None))


class OnnxPolicy(_ExportedPolicy):
    """A network in an ONNX file; its first output is actions or scores."""

    def _load(self, path: str) -> Callable[[np.ndarray], np.ndarray]:
        try:
            import onnxruntime  # type: ignore[import-untyped]
        except ImportError:
            raise UserError("ONNX files need onnxruntime: `pip install brittlestar[onnx]`") from None
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        try:
            session: Any = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        except Exception as error:
            raise UserError(f"{path} is not an ONNX file: {str(error).splitlines()[0]}") from None
        name = session.get_inputs()[0].name
        return lambda row: np.asarray(session.run(None, {name: row})[0])
