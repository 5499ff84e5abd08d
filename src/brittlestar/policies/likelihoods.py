"""How likely a network takes given actions, head by head, as Stable-Baselines3 computes it."""

import functools
import math

import numpy as np
from numpy.typing import ArrayLike

from brittlestar.errors import require
from brittlestar.policies.heads import Clipped, Head, Sampled, Squashed, StateNoise

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
    choices = actions.reshape(len(actions), -1).astype(np.int64)
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


def gaussian_log_density(actions: ArrayLike, mean: ArrayLike, std: ArrayLike) -> np.ndarray:
    """Returns the log density of every step's action under `N(mean, diag(std^2))`, `(steps,)`.

    Args:
        actions: `(steps, size)`.
        mean: of the same shape.
        std: above 0, of a shape that broadcasts to that of `mean`.

    Example:
        >>> gaussian_log_density([[0.0]], [[0.0]], 1.0).round(4).tolist()
        [-0.9189]
    """
    taken, centre, scale = (np.asarray(values, dtype=np.float64) for values in (actions, mean, std))
    require(taken.shape == centre.shape, "actions", f"of shape {centre.shape}", f"shape {taken.shape}")
    require(scale > 0, "std", "above 0", scale.min(initial=math.inf))
    density = -0.5 * ((taken - centre) / scale) ** 2 - np.log(scale) - 0.5 * math.log(2 * math.pi)
    return np.asarray(density.sum(axis=1))


def choice_log_probability(choices: ArrayLike, logits: ArrayLike) -> np.ndarray:
    """Returns the log probability of every step's choice, `(steps,)`; -inf for a choice of probability 0.

    Args:
        choices: numbers of the choices from 0 on, `(steps,)`.
        logits: log probabilities, normalised or not, `(steps, count)`.

    Example:
        >>> choice_log_probability([1, 0], np.log([[0.5, 0.5], [0.25, 0.75]])).round(4).tolist()
        [-0.6931, -1.3863]
    """
    table, taken = np.asarray(logits, dtype=np.float64), np.asarray(choices)
    whole = taken.shape == (len(table),) and taken.dtype.kind in "iu"
    require(whole, "choices", f"{len(table)} integers", f"shape {taken.shape} of {taken.dtype}")
    valid = (taken >= 0) & (taken < table.shape[1])
    require(valid, "choices", f"between 0 and {table.shape[1] - 1}", taken[~valid][:1].tolist())
    shifted = table - table.max(axis=1, keepdims=True)
    return np.asarray(shifted[np.arange(len(table)), taken] - np.log(np.exp(shifted).sum(axis=1)))
