"""Output heads of networks: from outputs to actions, deterministic or random as in training."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium import spaces

from brittlestar.checkpoints.spaces_text import Space, describe_space
from brittlestar.errors import UserError
from brittlestar.randomness import LaneDraws

Layer = tuple[np.ndarray, np.ndarray]
"""Weights `(inputs, outputs)` and biases `(outputs,)`."""

_INVALID = -1e8
"""Logit of an invalid choice, as in sb3-contrib."""


class Head:
    """Turns the outputs of a network's last layer, `(lanes, outputs)`, into actions."""

    masked = False
    """Whether it takes action masks."""

    def bind(self, space: Space, outputs: int) -> None:
        """Checks that the outputs fit the action space."""
        raise NotImplementedError

    def mask(self, outputs: np.ndarray, masks: np.ndarray) -> np.ndarray:
        """Returns the outputs; those of invalid choices, where `masks` is false, are so low that none is taken."""
        if masks.shape != outputs.shape:
            raise UserError(f"action masks must have {outputs.shape[1]} entries, one per choice, got {masks.shape[1]}")
        return np.where(masks, outputs, outputs.dtype.type(_INVALID))

    def decide(self, outputs: np.ndarray, latent: np.ndarray, draws: LaneDraws | None) -> np.ndarray:
        """Returns actions, deterministic ones without `draws`; `latent` is the last layer's inputs."""
        raise NotImplementedError

    def differentiate(self, outputs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Returns flat deterministic actions, or the scores of choices, and their slopes over the outputs."""
        return outputs, np.ones_like(outputs)


@dataclass
class StateNoise:
    """State-dependent exploration (gSDE): one random function of the latent state per episode."""

    std: np.ndarray
    """`(latent, actions)`."""

    def draw(self, latent: np.ndarray, draws: LaneDraws) -> np.ndarray:
        """Returns the noise of each lane."""
        matrix = draws.normal(self.std.shape, per_episode=True) * self.std
        return np.matmul(latent[:, None].astype(np.float64), matrix)[:, 0]


class _Bounded(Head):
    """Actions in a Box; before `bind`, between -1 and 1."""

    _low: Any = np.float32(-1.0)
    _high: Any = np.float32(1.0)
    _shape: tuple[int, ...] = (-1,)

    def bind(self, space: Space, outputs: int) -> None:
        if not isinstance(space, spaces.Box) or np.prod(space.shape) != outputs:
            raise UserError(f"the network gives {outputs} numbers, but actions are {describe_space(space)}")
        self._low, self._high, self._shape = space.low.ravel(), space.high.ravel(), space.shape

    def _shaped(self, actions: np.ndarray) -> np.ndarray:
        return np.asarray(actions.reshape(len(actions), *self._shape))


@dataclass
class Clipped(_Bounded):
    """Clips the outputs to the bounds (PPO, A2C, TRPO)."""

    log_std: np.ndarray | None = None
    """Logarithm of the standard deviation of random actions; None draws no noise."""
    state_noise: StateNoise | None = None

    def decide(self, outputs: np.ndarray, latent: np.ndarray, draws: LaneDraws | None) -> np.ndarray:
        if draws is not None and self.state_noise is not None:
            outputs = outputs + self.state_noise.draw(latent, draws)
        elif draws is not None and self.log_std is not None:
            outputs = outputs + np.exp(self.log_std) * draws.normal(self.log_std.shape)
        return self._shaped(np.clip(outputs, self._low, self._high))

    def differentiate(self, outputs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Returns flat deterministic actions and their slopes over the outputs, 0 out of bounds."""
        inside = (outputs > self._low) & (outputs < self._high)
        return np.clip(outputs, self._low, self._high), inside.astype(outputs.dtype)


@dataclass
class Squashed(_Bounded):
    """Applies tanh and scales the result to the bounds (SAC, TQC, TD3, DDPG)."""

    spread: Layer | None = None
    """Layer for the logarithm of the standard deviation of random actions; None draws no noise."""
    state_noise: StateNoise | None = None
    limit: float | None = None
    """Bound of the outputs before tanh."""
    spread_range: tuple[float, float] | None = None
    """Range that the outputs of `spread` are squashed to, as in CleanRL; None clips them, as Stable-Baselines3 does."""

    def bind(self, space: Space, outputs: int) -> None:
        super().bind(space, outputs)
        if isinstance(space, spaces.Box) and not space.is_bounded():
            raise UserError(f"`output: tanh` needs actions with bounds, got {' '.join(str(space).split())}")

    def decide(self, outputs: np.ndarray, latent: np.ndarray, draws: LaneDraws | None) -> np.ndarray:
        if self.limit is not None:
            outputs = np.clip(outputs, -self.limit, self.limit)
        if draws is not None and self.state_noise is not None:
            outputs = outputs + self.state_noise.draw(latent, draws)
        elif draws is not None and self.spread is not None:
            outputs = outputs + np.exp(self._log_std(latent, *self.spread)) * draws.normal(outputs.shape[1:])
        return self._shaped(self._low + 0.5 * (np.tanh(outputs) + 1.0) * (self._high - self._low))

    def differentiate(self, outputs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Returns flat deterministic actions and their slopes over the outputs."""
        limit = np.inf if self.limit is None else self.limit
        half, inside = 0.5 * (self._high - self._low), np.abs(outputs) < limit
        squashed = np.tanh(np.clip(outputs, -limit, limit))
        return self._low + half * (squashed + 1.0), half * (1.0 - squashed * squashed) * inside

    def _log_std(self, latent: np.ndarray, weights: np.ndarray, biases: np.ndarray) -> np.ndarray:
        log_std = np.matmul(latent[:, None], weights)[:, 0] + biases
        if self.spread_range is None:
            return np.clip(log_std, -20, 2)
        low, high = self.spread_range
        return np.asarray(low + 0.5 * (high - low) * (np.tanh(log_std) + 1))


@dataclass
class Greedy(Head):
    """Takes the choice of the largest output (DQN, QRDQN); the `start` of a Discrete space is not added to it."""

    exploration: float = 0.0
    """Probability of a random choice, if actions are random; as in training, it is drawn from the action space."""
    _start = 0

    def bind(self, space: Space, outputs: int) -> None:
        if not isinstance(space, spaces.Discrete) or space.n != outputs:
            raise UserError(f"the network needs actions Discrete({outputs}), got {describe_space(space)}")
        self._start = int(space.start)

    def decide(self, outputs: np.ndarray, latent: np.ndarray, draws: LaneDraws | None) -> np.ndarray:
        best = outputs.argmax(axis=1)
        if draws is not None and self.exploration > 0:
            other = self._start + np.floor(draws.uniform() * outputs.shape[1]).astype(np.int64)
            best = np.where(draws.uniform() < self.exploration, other, best)
        return np.asarray(best)


@dataclass
class Sampled(Head):
    """Draws choices with the outputs as logits, or takes the most likely ones (PPO, A2C, TRPO, ARS).

    The `start` of a space is not added to a choice, as in Stable-Baselines3.
    """

    masked: bool = False
    """Whether it takes action masks; a binary choice then has two logits (MaskablePPO)."""

    def bind(self, space: Space, outputs: int) -> None:
        if isinstance(space, spaces.Discrete):
            counts = [int(space.n)]
        elif isinstance(space, spaces.MultiDiscrete):
            counts = space.nvec.ravel().tolist()
        elif isinstance(space, spaces.MultiBinary):
            counts = [1 + self.masked] * int(np.prod(space.shape))
        else:
            counts = []
        if sum(counts) != outputs:
            raise UserError(f"the network gives {outputs} logits, but actions are {describe_space(space)}")
        self._ends, self._binary = np.cumsum(counts)[:-1], isinstance(space, spaces.MultiBinary) and not self.masked
        self._shape = space.shape or ()

    def decide(self, outputs: np.ndarray, latent: np.ndarray, draws: LaneDraws | None) -> np.ndarray:
        if draws is not None:
            uniform = np.clip(draws.uniform(outputs.shape[1:]), 1e-300, 1.0)
            # The largest of logits plus Gumbel noise is a draw from their distribution; for two, logistic noise.
            noise = np.log(uniform) - np.log1p(-uniform) if self._binary else -np.log(-np.log(uniform))
            outputs = outputs + noise
        if self._binary:
            choices = (outputs > 0).astype(np.int64)
        else:
            choices = np.stack([part.argmax(axis=1) for part in np.split(outputs, self._ends, axis=1)], axis=1)
        return np.asarray(choices.reshape(-1, *self._shape))
