"""Gradients of policies: by backpropagation in numpy or in torch, or by finite differences."""

import copy
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from brittlestar.policies.base import Answer, GradientError, Observation, Policy
from brittlestar.policies.heads import Layer

_STEP = 0.1
"""Length of a finite difference, as a fraction of the searched radius."""


def _silu_slope(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    gate = 1.0 / (1.0 + np.exp(-x))
    return np.asarray(gate + y * (1.0 - gate))


SLOPES: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "tanh": lambda x, y: 1.0 - y * y,
    "relu": lambda x, y: (x > 0).astype(x.dtype),
    "leaky_relu": lambda x, y: np.where(x > 0, x.dtype.type(1.0), x.dtype.type(0.01)),
    "elu": lambda x, y: np.where(x > 0, x.dtype.type(1.0), y + 1.0),
    "sigmoid": lambda x, y: y * (1.0 - y),
    "silu": _silu_slope,
}
"""Derivative of each activation at its input `x` and its output `y`."""


def through_layers(
    layers: Sequence[Layer], activation: Callable[..., Any], slope: Callable[..., np.ndarray], row: np.ndarray
) -> tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]:
    """Returns the outputs of a network, `(lanes, outputs)`, and the gradient function of `row`, `(lanes, inputs)`.

    Example:
        >>> layers = [(np.array([[2.0]]), np.zeros(1)), (np.array([[3.0]]), np.zeros(1))]
        >>> outputs, pull = through_layers(layers, np.tanh, SLOPES["tanh"], np.array([[0.5]]))
        >>> bool(np.isclose(pull(np.ones((1, 1)))[0, 0], 6 * (1 - np.tanh(1.0) ** 2)))
        True
    """
    slopes: list[np.ndarray] = []
    y = row[:, None]
    for weights, biases in layers:
        # One vector-matrix product per lane in both directions, as in `MlpPolicy`.
        x = np.matmul(y, weights)
        x += biases
        y = x
        if len(slopes) < len(layers) - 1:
            y = np.empty_like(x)
            activation(x, out=y)
            slopes.append(slope(x, y))

    def pull(gradient: np.ndarray) -> np.ndarray:
        back = gradient[:, None].astype(row.dtype)
        for index in reversed(range(len(layers))):
            back = back * slopes[index] if index < len(slopes) else back
            back = np.matmul(back, np.ascontiguousarray(layers[index][0].T))
        return np.asarray(back[:, 0])

    return y[:, 0], pull


def through_torch(network: Callable[[dict[str, Any]], Any], inputs: Mapping[str, np.ndarray], name: str) -> Answer:
    """Evaluates a torch network lane by lane; torch computes the gradients.

    `network` takes a batch of one lane by entry, and returns actions or scores. `name` is its name in messages.
    """
    import torch

    def leaf(row: np.ndarray) -> Any:
        tensor = torch.from_numpy(row[None].copy())
        return tensor.requires_grad_(tensor.is_floating_point())

    rows = [dict(zip(inputs, map(leaf, parts), strict=True)) for parts in zip(*inputs.values(), strict=True)]
    answers = [network(row).reshape(-1) for row in rows]
    if not answers[0].requires_grad:
        raise GradientError(f"{name} has no gradients: it returns a choice, not the scores of all choices")

    def pull(gradient: np.ndarray) -> dict[str, np.ndarray]:
        back: dict[str, list[np.ndarray]] = {}
        for lane, (row, answer) in enumerate(zip(rows, answers, strict=True)):
            leaves = {key: part for key, part in row.items() if part.requires_grad}
            weights = torch.from_numpy(gradient[lane]).to(answer.dtype)
            slopes = torch.autograd.grad(answer, list(leaves.values()), weights, retain_graph=True, allow_unused=True)
            for (key, part), slope in zip(leaves.items(), slopes, strict=True):
                back.setdefault(key, []).append((torch.zeros_like(part) if slope is None else slope).detach().numpy())
        return {key: np.concatenate(parts) for key, parts in back.items()}

    return Answer(torch.stack(answers).detach().numpy(), pull)


def by_differences(
    policy: Policy, observation: Observation, state: Any, first: np.ndarray, radius: Mapping[str, np.ndarray]
) -> Answer:
    """Estimates the gradient by `(pi(x + h e_i) - pi(x - h e_i)) / 2h` for every observed number `i`.

    The gradient function queries the policy, which needs continuous actions, twice per number. `radius` is half the
    width of the searched box, for each entry that is differentiated. `h` is a tenth of it, so that it averages over
    smaller kinks.

    Example:
        >>> from brittlestar.policies import as_policy
        >>> twice = as_policy(lambda observation: 2 * observation)
        >>> answer = by_differences(twice, np.ones((1, 2)), None, np.ones(1, bool), {"": np.ones((1, 2))})
        >>> answer.pull(np.array([[1.0, 10.0]]))[""].round(6).tolist()
        [[2.0, 20.0]]
    """
    entries = {key: np.asarray(observation[key] if key else observation) for key in radius}

    def query(key: str, part: np.ndarray) -> np.ndarray:
        """Returns the actions with one entry of the observation replaced."""
        # A policy of the user may change the state that it gets.
        actions, _ = policy.predict(observation | {key: part} if key else part, copy.deepcopy(state), first)
        return np.asarray(actions, dtype=np.float64).reshape(len(first), -1)

    return Answer(
        query(*next(iter(entries.items()))),
        lambda gradient: {key: _pull(partial(query, key), entries[key], radius[key], gradient) for key in radius},
    )


def _pull(
    query: Callable[[np.ndarray], np.ndarray], part: np.ndarray, radius: np.ndarray, gradient: np.ndarray
) -> np.ndarray:
    steps = np.where(radius > 0, _STEP * radius, 1.0)
    slopes = []
    for place in np.ndindex(part.shape[1:]):
        ends = []
        for sign in (1.0, -1.0):
            moved = part.astype(np.float64)
            moved[:, *place] += sign * steps[:, *place]
            ends.append(query(moved))
        slopes.append((ends[0] - ends[1]) / (2.0 * steps[:, *place, None]))
    # `(lanes, 1, outputs) @ (lanes, outputs, numbers)`
    return np.asarray(np.matmul(gradient[:, None], np.stack(slopes, axis=2)).reshape(part.shape))
