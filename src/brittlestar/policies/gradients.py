"""How the answer of a policy moves with what it sees: through its layers, by torch, or by trying."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from brittlestar.errors import UserError

if TYPE_CHECKING:
    from brittlestar.policies.base import Observation, Policy
    from brittlestar.policies.heads import Layer

_TRIED = 0.1
"""How far differences reach, as a part of the box that is searched."""

Pull = Callable[[np.ndarray], np.ndarray]


class GradientError(UserError):
    """A policy that cannot tell how its answer moves with what it sees."""


@dataclass(frozen=True)
class Answer:
    """What a policy answers without chance, and the way back from there to what it saw.

    Attributes:
        outputs: `(lanes, n)`: the actions in a box, flat; of choices, the scores that decide them.
        pull: takes `dL/doutputs`, `(lanes, n)`, and returns `dL/dobservation` by entry, `""` for a plain observation;
            what the policy does not look at is left out.
    """

    outputs: np.ndarray
    pull: Callable[[np.ndarray], dict[str, np.ndarray]]


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
"""Of every activation, its derivative at `x`, where it is `y`."""


def through_layers(
    layers: Sequence[Layer], activation: Callable[..., Any], slope: Callable[..., np.ndarray], row: np.ndarray
) -> tuple[np.ndarray, Pull]:
    """Returns the outputs of a network, `(lanes, outputs)`, and the way back to `row`, `(lanes, inputs)`.

    Example:
        >>> layers = [(np.array([[2.0]]), np.zeros(1)), (np.array([[3.0]]), np.zeros(1))]
        >>> outputs, pull = through_layers(layers, np.tanh, SLOPES["tanh"], np.array([[0.5]]))
        >>> bool(np.isclose(pull(np.ones((1, 1)))[0, 0], 6 * (1 - np.tanh(1.0) ** 2)))
        True
    """
    slopes: list[np.ndarray] = []
    y = row[:, None]
    for weights, biases in layers:
        # One vector-matrix product per lane, there and back, as in `MlpPolicy`.
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


def through_torch(network: Callable[[dict[str, Any]], Any], seen: Mapping[str, np.ndarray], name: str) -> Answer:
    """Asks a torch network lane by lane, and lets torch find the way back.

    Args:
        network: takes a batch of one by entry, and returns actions or scores.
        seen: what all lanes see, by entry.
        name: what an error calls the network.
    """
    import torch

    lanes = len(next(iter(seen.values())))
    rows = [
        {key: torch.from_numpy(part[lane : lane + 1].copy()) for key, part in seen.items()} for lane in range(lanes)
    ]
    for row in rows:
        for part in row.values():
            part.requires_grad_(part.is_floating_point())
    answers = [network(row).reshape(-1) for row in rows]
    if not answers[0].requires_grad:
        raise GradientError(f"{name} has no gradients: it answers with a choice, not with the scores behind it")

    def pull(gradient: np.ndarray) -> dict[str, np.ndarray]:
        back: dict[str, list[np.ndarray]] = {}
        for lane, (row, answer) in enumerate(zip(rows, answers, strict=True)):
            leaves = {key: part for key, part in row.items() if part.requires_grad}
            weights = torch.from_numpy(gradient[lane]).to(answer.dtype)
            found = torch.autograd.grad(answer, list(leaves.values()), weights, retain_graph=True, allow_unused=True)
            for (key, part), slope in zip(leaves.items(), found, strict=True):
                back.setdefault(key, []).append((torch.zeros_like(part) if slope is None else slope).detach().numpy())
        return {key: np.concatenate(parts) for key, parts in back.items()}

    return Answer(torch.stack(answers).detach().numpy(), pull)


def by_differences(
    policy: Policy, observation: Observation, state: Any, first: np.ndarray, radius: Mapping[str, np.ndarray]
) -> Answer:
    """Tries what a policy does: `(pi(x + h e_i) - pi(x - h e_i)) / 2h` for every observed number `i`.

    The way back asks the policy twice per number. `h` is a tenth of `radius`, so it looks past smaller kinks.

    Args:
        policy: one with continuous actions.
        observation: `x`.
        state: what the policy kept from the step before.
        first: `(lanes,)`, whether an episode starts.
        radius: by entry that counts, half the width of the box that is searched.

    Example:
        >>> from brittlestar.policies import as_policy
        >>> twice = as_policy(lambda observation: 2 * observation)
        >>> answer = by_differences(twice, np.ones((1, 2)), None, np.ones(1, bool), {"": np.ones((1, 2))})
        >>> answer.pull(np.array([[1.0, 10.0]]))[""].round(6).tolist()
        [[2.0, 20.0]]
    """

    def act(key: str, part: np.ndarray) -> np.ndarray:
        shown = observation | {key: part} if isinstance(observation, dict) else part
        actions = policy.predict(shown, state, first)[0]
        return np.asarray(actions, dtype=np.float64).reshape(len(first), -1)

    def pull_entry(key: str, gradient: np.ndarray) -> np.ndarray:
        part = np.asarray(observation[key] if key else observation)
        reach = np.where(radius[key] > 0, _TRIED * radius[key], 1.0)
        slopes = []
        for place in np.ndindex(part.shape[1:]):
            ends = []
            for sign in (1.0, -1.0):
                moved = part.astype(np.float64)
                moved[:, *place] += sign * reach[:, *place]
                ends.append(act(key, moved))
            slopes.append((ends[0] - ends[1]) / (2.0 * reach[:, *place, None]))
        # `(lanes, 1, outputs) @ (lanes, outputs, numbers)`
        return np.asarray(np.matmul(gradient[:, None], np.stack(slopes, axis=2)).reshape(part.shape))

    key = next(iter(radius))
    outputs = act(key, observation[key] if key else observation)
    return Answer(outputs, lambda gradient: {key: pull_entry(key, gradient) for key in radius})
