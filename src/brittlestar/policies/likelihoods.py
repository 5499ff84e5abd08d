"""How likely a network takes given actions, head by head, as Stable-Baselines3 computes it."""

import functools

import numpy as np

from brittlestar.policies.heads import Clipped, Head, Sampled, Squashed, StateNoise
from brittlestar.statistics.trajectories import choice_log_probability, gaussian_log_density

_LEAST_VARIANCE = 1e-6
"""Of state-dependent noise."""
_MARGIN = 1e-6
"""Least distance of a squashed action to its bounds, where its density is infinite."""


@functools.singledispatch
def log_likelihood(head: Head, actions: np.ndarray, outputs: np.ndarray, latent: np.ndarray) -> np.ndarray | None:
    """Returns the log probability (log density, for a Box) of actions, `(lanes,)`; None for a head that never draws.

    Args:
        head: turns the outputs into actions.
        actions: `(lanes, ...)`, as the environment takes them.
        outputs: outputs of the last layer, `(lanes, outputs)`.
        latent: inputs of the last layer, `(lanes, inputs)`.
    """
    return None


@log_likelihood.register
def _(head: Clipped, actions: np.ndarray, outputs: np.ndarray, latent: np.ndarray) -> np.ndarray | None:
    # The density before clipping: that of an action at its bound would be infinite.
    if head.state_noise is not None:
        return gaussian_log_density(_flat(actions), outputs, _spread(head.state_noise, latent))
    return None if head.log_std is None else gaussian_log_density(_flat(actions), outputs, np.exp(head.log_std))


@log_likelihood.register
def _(head: Squashed, actions: np.ndarray, outputs: np.ndarray, latent: np.ndarray) -> np.ndarray | None:
    if head.state_noise is not None:
        std = _spread(head.state_noise, latent)
    elif head.spread is not None:
        std = np.exp(head._log_std(latent, *head.spread))
    else:
        return None
    mean = outputs if head.limit is None else np.clip(outputs, -head.limit, head.limit)
    # In units of -1 to 1, which the networks are trained in.
    unit = 2.0 * (_flat(actions) - head._low) / (head._high - head._low) - 1.0
    unit = np.clip(unit, _MARGIN - 1, 1 - _MARGIN)
    return gaussian_log_density(np.arctanh(unit), mean, std) - np.log(1 - unit**2 + _MARGIN).sum(axis=1)


@log_likelihood.register
def _(head: Sampled, actions: np.ndarray, outputs: np.ndarray, latent: np.ndarray) -> np.ndarray | None:
    choices = (actions - head._start).reshape(len(actions), -1).astype(np.int64)
    if head._binary:
        parts = [np.stack([np.zeros(len(outputs)), logits], axis=1) for logits in outputs.T]
    else:
        parts = np.split(outputs, head._ends, axis=1)
    pairs = zip(choices.T, parts, strict=True)
    return np.asarray(sum(choice_log_probability(choice, logits) for choice, logits in pairs))


def _flat(actions: np.ndarray) -> np.ndarray:
    return actions.reshape(len(actions), -1).astype(np.float64)


def _spread(noise: StateNoise, latent: np.ndarray) -> np.ndarray:
    return np.sqrt(np.square(latent, dtype=np.float64) @ noise.std.astype(np.float64) ** 2 + _LEAST_VARIANCE)
