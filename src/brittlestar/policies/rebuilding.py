"""Rebuilds the actor of a Stable-Baselines3 checkpoint from its weights, without running code from the file."""

import re
from collections.abc import Iterator

import numpy as np
from gymnasium import spaces

from brittlestar.checkpoints import Checkpoint
from brittlestar.errors import UserError, nearest
from brittlestar.policies.extractors import read_extractors
from brittlestar.policies.features import FeatureInputs
from brittlestar.policies.heads import Clipped, Greedy, Head, Layer, Sampled, Squashed, StateNoise
from brittlestar.policies.inputs import Inputs
from brittlestar.policies.mlp import ACTIVATIONS, MlpPolicy
from brittlestar.policies.recurrent import LstmInputs, lstm_layers

Weights = dict[str, np.ndarray]
_LSTMS = ("lstm_actor.", "lstm_critic.")
_GSDE_MEAN_LIMIT = 2.0
_BATCH_RENORM_EPSILON = 0.001


def rebuild(checkpoint: Checkpoint, inputs: Inputs) -> MlpPolicy:
    """Returns the actor of a checkpoint; refuses one whose weights do not determine the network."""
    _refuse_underivable(checkpoint)
    features, weights = _with_features(checkpoint, inputs), checkpoint.weights
    if any(name.startswith("actor.") for name in weights):
        layers, head = _off_policy(checkpoint, weights)
    elif any(name.startswith(("q_net.", "quantile_net.")) for name in weights):
        layers, head = _value_based(checkpoint, weights)
    elif "action_net.weight" in weights:
        layers, head = _on_policy(checkpoint, weights)
    elif "action_net.0.weight" in weights:
        layers, head = _random_search(checkpoint, weights)
    else:
        raise _refusal(checkpoint, f"its weights ({', '.join(list(weights)[:3])}, ...) belong to no known algorithm")
    activation = checkpoint.activation or ("tanh" if "action_net.weight" in weights else "relu")
    if activation not in ACTIVATIONS:
        raise _refusal(checkpoint, f"its activation `{activation}` is not one of {', '.join(ACTIVATIONS)}")
    return MlpPolicy(layers, activation, head, _with_memory(checkpoint, features))


def _refusal(checkpoint: Checkpoint, reason: str) -> UserError:
    return UserError(
        f"{checkpoint.path} cannot be rebuilt from its weights alone: {reason}; `policy.trust=true` loads it with "
        "Stable-Baselines3, which runs code from the file"
    )


def _refuse_underivable(checkpoint: Checkpoint) -> None:
    if any("lstm" in name and not name.startswith(_LSTMS) for name in checkpoint.weights):
        raise _refusal(checkpoint, "its recurrent layers are not those of RecurrentPPO")
    if any(array.ndim > 2 and "features_extractor." not in name for name, array in checkpoint.weights.items()):
        raise _refusal(checkpoint, "it has convolutions outside of its features extractor")


def _with_features(checkpoint: Checkpoint, inputs: Inputs) -> Inputs | FeatureInputs:
    space = checkpoint.observation_space
    try:
        extractors = read_extractors(checkpoint.weights, space, checkpoint.features_extractor)
    except UserError as error:
        raise _refusal(checkpoint, str(error)) from None
    return FeatureInputs(inputs, space, extractors, checkpoint.normalize_images) if extractors else inputs


def _with_memory(checkpoint: Checkpoint, inputs: Inputs | FeatureInputs) -> Inputs | FeatureInputs | LstmInputs:
    if not any(name.startswith(_LSTMS) for name in checkpoint.weights):
        return inputs
    try:
        return LstmInputs(inputs, lstm_layers(checkpoint.weights, "lstm_actor"))
    except UserError as error:
        raise _refusal(checkpoint, str(error)) from None


def _on_policy(checkpoint: Checkpoint, weights: Weights) -> tuple[list[Layer], Head]:
    layers = [*stack(weights, "mlp_extractor.shared_net"), *stack(weights, "mlp_extractor.policy_net")]
    layers.append(layer(weights, "action_net"))
    if not isinstance(checkpoint.action_space, spaces.Box):
        return layers, Sampled(masked=checkpoint.algorithm == "maskable_ppo")
    log_std = weights.get("log_std")
    noise = StateNoise(_spread(log_std, layers[-1])) if checkpoint.use_sde and log_std is not None else None
    if checkpoint.squash_output:
        return layers, Squashed(state_noise=noise)
    return layers, Clipped(None if noise else log_std, noise)


def _off_policy(checkpoint: Checkpoint, weights: Weights) -> tuple[list[Layer], Head]:
    if "actor.log_std" not in weights and "actor.log_std.weight" not in weights:
        return stack(weights, "actor.mu"), Squashed()
    layers = stack(weights, "actor.latent_pi")
    if "actor.log_std" in weights:  # gSDE
        # The mean is a layer and a clamp, or a layer alone.
        clamped = "actor.mu.0.weight" in weights
        layers.append(layer(weights, "actor.mu.0" if clamped else "actor.mu"))
        noise = StateNoise(_spread(weights["actor.log_std"], layers[-1]))
        return layers, Squashed(state_noise=noise, limit=_GSDE_MEAN_LIMIT if clamped else None)
    # CrossQ has one more batch norm before both outputs.
    last = list(_modules(weights, "actor.latent_pi"))[-1:]
    norm = _norm(weights, last[0]) if last and f"{last[0]}.ra_mean" in weights else None
    layers.append(_folded(norm, layer(weights, "actor.mu")))
    return layers, Squashed(spread=_folded(norm, layer(weights, "actor.log_std")))


def _value_based(checkpoint: Checkpoint, weights: Weights) -> tuple[list[Layer], Head]:
    prefix = "quantile_net.quantile_net" if "quantile_net.quantile_net.0.weight" in weights else "q_net.q_net"
    layers = stack(weights, prefix)
    actions = int(checkpoint.action_space.n) if isinstance(checkpoint.action_space, spaces.Discrete) else 0
    if prefix.startswith("quantile") and layers and actions:
        # The mean over quantiles is linear, so it is taken over the weights.
        matrix, biases = layers[-1]
        layers[-1] = matrix.reshape(len(matrix), -1, actions).mean(axis=1), biases.reshape(-1, actions).mean(axis=0)
    return layers, Greedy(checkpoint.exploration_rate or 0.0)


def _random_search(checkpoint: Checkpoint, weights: Weights) -> tuple[list[Layer], Head]:
    layers = stack(weights, "action_net")
    if not isinstance(checkpoint.action_space, spaces.Box):
        return layers, Greedy()
    return layers, Squashed() if checkpoint.squash_output else Clipped()


def _spread(log_std: np.ndarray, mean: Layer) -> np.ndarray:
    # One column holds for all actions (`full_std=False`).
    return np.asarray(np.exp(log_std) * np.ones_like(mean[0]))


def layer(weights: Weights, name: str) -> Layer:
    """Returns a `torch.nn.Linear` by its name; missing biases are 0."""
    if f"{name}.weight" not in weights:
        raise UserError(f"the checkpoint has no `{name}.weight`; {nearest(f'{name}.weight', weights)}")
    matrix = weights[f"{name}.weight"]
    if matrix.ndim != 2:
        raise UserError(f"`{name}.weight` must have 2 dimensions, got shape {matrix.shape}")
    return matrix.T, weights.get(f"{name}.bias", np.zeros(len(matrix), matrix.dtype))


def stack(weights: Weights, prefix: str) -> list[Layer]:
    """Returns the layers of a `torch.nn.Sequential`; a batch norm is folded into the layer after it."""
    layers: list[Layer] = []
    norm: Layer | None = None
    for name in _modules(weights, prefix):
        if f"{name}.ra_mean" in weights:
            norm = _norm(weights, name)
        else:
            layers.append(_folded(norm, layer(weights, name)))
            norm = None
    return layers


def _norm(weights: Weights, name: str) -> Layer:
    """Returns a batch norm as scales and shifts."""
    scale = weights[f"{name}.scale"] / np.sqrt(weights[f"{name}.ra_var"] + _BATCH_RENORM_EPSILON)
    return scale, weights[f"{name}.bias"] - weights[f"{name}.ra_mean"] * scale


def _folded(norm: Layer | None, layer: Layer) -> Layer:
    if norm is None:
        return layer
    (scale, shift), (matrix, biases) = norm, layer
    return matrix * scale[:, None], biases + shift @ matrix


def _modules(weights: Weights, prefix: str) -> Iterator[str]:
    numbers = {int(m[1]) for name in weights if (m := re.match(rf"{re.escape(prefix)}\.(\d+)\.", name))}
    return (f"{prefix}.{number}" for number in sorted(numbers))
