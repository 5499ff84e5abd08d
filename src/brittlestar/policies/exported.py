"""Exported networks: CleanRL state dicts, TorchScript, ONNX."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium import spaces

from brittlestar.checkpoints.files import existing, read_file
from brittlestar.checkpoints.spaces_text import Space, describe_space
from brittlestar.checkpoints.weights import MAX_WEIGHT_BYTES, read_weights
from brittlestar.checkpoints.zip_entries import ZIP_START, ZipEntries
from brittlestar.errors import UserError, require_choice
from brittlestar.policies.base import (
    Answer,
    DelegatingPolicy,
    Observation,
    Policy,
    Starts,
    StatelessPolicy,
)
from brittlestar.policies.box_bounds import BoxConversion, OutputRange, bounds_text
from brittlestar.policies.gradients import through_torch
from brittlestar.policies.heads import Clipped, Greedy, Head, Layer, Sampled, Squashed
from brittlestar.policies.inputs import Inputs
from brittlestar.policies.mlp import MlpPolicy
from brittlestar.policies.rebuilding import layer, stack
from brittlestar.policies.trained_spaces import OUTPUTS, AdaptedPolicy, note_on_start, refuse_outputs
from brittlestar.randomness import LaneDraws

_CLEANRL_SPREAD = (-5.0, 2.0)
_ADVICE = "set `policy.outputs=unit` if it was trained with normalised actions, or `env` if they have these units"


@dataclass
class CleanRlPolicy(DelegatingPolicy):
    """The actor of a CleanRL state dict; no code from the file runs."""

    path: str
    outputs: str | None = None
    """Units of the actions if their bounds are not those of the training: `unit` or `env`, see `OUTPUTS`."""

    def __post_init__(self) -> None:
        file = existing(self.path)
        weights = read_weights(read_file(file, MAX_WEIGHT_BYTES), str(file))
        layers, activation, head = _cleanrl(weights, self.path)
        self._policy: Policy = MlpPolicy(layers, activation, head)
        if "action_scale" in weights and "action_bias" in weights:
            # SAC, TD3 and DDPG store half the width and the middle of the bounds of their training.
            scale, bias = weights["action_scale"].ravel(), weights["action_bias"].ravel()
            trained = spaces.Box(bias - scale, bias + scale, dtype=np.float32)
            self._policy = AdaptedPolicy(self._policy, trained, None, self.outputs, self.path)
        elif self.outputs is not None:
            raise UserError(f"`policy.outputs` needs the bounds of the training, which {self.path} does not hold")

    def bind(self, observation_space: Space, action_space: Space, draws: LaneDraws) -> None:
        super().bind(observation_space, action_space, draws)
        self._own_notes = note_on_start(self.path, action_space)


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
    outputs: str | None = None
    """Units of actions in a Box: `unit` or `env`, see `OUTPUTS`; null is `env`, with a note on outputs in -1 to 1."""

    def __post_init__(self) -> None:
        if self.outputs is not None:
            require_choice("outputs", self.outputs, OUTPUTS)
        self._own_notes: list[str] = []
        self._range: OutputRange | None = None

    @property
    def notes(self) -> list[str]:
        return self._own_notes + (self._range.notes(self.path, _ADVICE) if self._range and self.outputs is None else [])

    def bind(self, observation_space: Space, action_space: Space, draws: LaneDraws) -> None:
        self._inputs, self._seen, self._space, self._range = Inputs(), observation_space, action_space, None
        self._inputs.bind(observation_space)
        self._own_notes = note_on_start(self.path, action_space)
        if isinstance(action_space, spaces.Box):
            self._range, self._conversion = OutputRange(action_space), BoxConversion.clipping(action_space)
            if self.outputs == "unit" and not action_space.is_bounded():
                raise UserError(f"`policy.outputs=unit` needs bounds, actions are {bounds_text(action_space)}")
            if self.outputs == "unit":
                self._conversion = BoxConversion.rescaling(spaces.Box(-1.0, 1.0, action_space.shape), action_space)
        else:
            refuse_outputs(self.outputs, action_space)
        self._answer = self._load(str(existing(self.path)))

    def _load(self, path: str) -> Callable[[np.ndarray], np.ndarray]:
        raise NotImplementedError

    def act(self, observation: Observation) -> np.ndarray:
        """Evaluates the network for each lane; float outputs for choices are their scores."""
        answers = self._outputs(self._row(observation))
        if answers.dtype.kind == "f" and not isinstance(self._space, spaces.Box):
            scores = Sampled()
            scores.bind(self._space, answers.shape[1])
            return scores.decide(answers, answers, None)
        shape = self._space.shape or ()
        if answers.shape[1] != np.prod(shape):
            raise UserError(f"{self.path} gives {answers.shape[1]} numbers, actions are {describe_space(self._space)}")
        actions = answers.reshape(-1, *shape)
        if self._range is None:
            return actions
        self._range.add(actions)
        return self._conversion.apply(actions)

    def _outputs(self, row: np.ndarray) -> np.ndarray:
        try:
            return np.stack([self._answer(row[lane : lane + 1]).ravel() for lane in range(len(row))])
        except Exception as error:
            # The last line of torch's text is the reason.
            reason = (str(error).strip() or type(error).__name__).splitlines()[-1]
            numbers = f"{row.shape[1]} numbers of {describe_space(self._seen)}"
            raise UserError(f"{self.path} cannot take {numbers}: {reason}") from error

    def _row(self, observation: Observation) -> np.ndarray:
        return np.concatenate(self._inputs.read(observation, None, None)[0], axis=1).astype(np.float32)


class TorchScriptPolicy(_ExportedPolicy):
    """A network of `torch.jit.save` that maps rows of numbers to actions or scores, its first output."""

    def _load(self, path: str) -> Callable[[np.ndarray], np.ndarray]:
        import torch

        torch.set_num_threads(1)
        try:
            with warnings.catch_warnings():
                # torch warns that the format is deprecated, which the user cannot change here.
                warnings.simplefilter("ignore")
                network = torch.jit.load(path, map_location="cpu").eval()
        except RuntimeError as error:
            with open(path, "rb") as file:
                if file.read(4) == ZIP_START:
                    # It reports a truncated file as such.
                    ZipEntries(file, path)
            raise UserError(f"{path} is not a TorchScript file: {str(error).splitlines()[0]}") from None
        self._network = network

        def answer(row: np.ndarray) -> np.ndarray:
            with torch.no_grad():
                return np.asarray(_first(network(torch.from_numpy(row))).numpy())

        return answer

    def differentiate(self, observation: Observation, state: Any = None, episode_start: Starts = None) -> Answer:
        """Returns the outputs and the gradient function of torch."""

        def network(row: dict[str, Any]) -> Any:
            return _first(self._network(row[""]))

        answer = through_torch(network, {"": self._row(observation)}, self.path)
        if isinstance(self._space, spaces.Box):
            answer = self._conversion.differentiate(answer)
        return Answer(answer.outputs, lambda g: self._inputs.pull(answer.pull(g)[""], observation, None, None))


def _first(answer: Any) -> Any:
    """Returns the actions or scores of a network that may return more."""
    return answer[0] if isinstance(answer, tuple) else answer


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
            raise UserError(f"{path} is not an ONNX file, or truncated: {str(error).splitlines()[0]}") from None
        name = session.get_inputs()[0].name
        return lambda row: np.asarray(session.run(None, {name: row})[0])
