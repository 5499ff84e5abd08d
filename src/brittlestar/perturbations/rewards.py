"""Rewards that are inverted, scaled, noisy or late: what a learner sees; scores use the true ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from gymnasium import spaces

from brittlestar.errors import require
from brittlestar.perturbations.base import Perturbation, Step
from brittlestar.perturbations.delays import check_delay, draw_delay, longest_delay


@dataclass
class RewardPerturbation(Perturbation):
    """Perturbs rewards: a subclass writes `perturb(reward, step)` only."""

    def perturb(self, reward: np.ndarray, step: Step) -> np.ndarray:
        """Returns the perturbed reward; the dtype is restored by the caller."""
        raise NotImplementedError

    def perturb_reward(self, reward: np.ndarray, step: Step) -> np.ndarray:
        """Perturbs the reward of every lane."""
        return self.perturb(reward, step).astype(reward.dtype, copy=False)


@dataclass
class InvertedReward(RewardPerturbation):
    """Shows `(1 - 2 * level * inversion) * r`: 0.5 hides the reward, 1 turns its sign.

    Example:
        >>> from brittlestar.randomness import LaneDraws
        >>> step = Step(level=np.array([1.0, 0.5]), first=np.ones(2, bool), draws=LaneDraws(0, "noise", 2))
        >>> InvertedReward(inversion=1.0).perturb_reward(np.array([2.0, 2.0]), step).tolist()
        [-2.0, 0.0]
    """

    strength_field: ClassVar[str] = "inversion"
    inversion: float

    def __post_init__(self) -> None:
        require(0 <= self.inversion <= 1, "inversion", "in [0, 1]", self.inversion)

    def perturb(self, reward: np.ndarray, step: Step) -> np.ndarray:
        """Turns the reward around."""
        return (1 - 2 * step.of(self, "inversion", reward)) * reward


@dataclass
class ScaledReward(RewardPerturbation):
    """Shows `(1 + level * gain) * r`: -1 hides the reward, 1 doubles it.

    Example:
        >>> from brittlestar.randomness import LaneDraws
        >>> step = Step(level=np.array([1.0, 0.5]), first=np.ones(2, bool), draws=LaneDraws(0, "noise", 2))
        >>> ScaledReward(gain=-0.5).perturb_reward(np.array([2.0, 2.0]), step).tolist()
        [1.0, 1.5]
    """

    strength_field: ClassVar[str] = "gain"
    gain: float

    def __post_init__(self) -> None:
        require(np.isfinite(self.gain), "gain", "finite", self.gain)

    def perturb(self, reward: np.ndarray, step: Step) -> np.ndarray:
        """Scales the reward."""
        return (1 + step.of(self, "gain", reward)) * reward


@dataclass
class NoisyReward(RewardPerturbation):
    """Shows `r + level * sigma * N(0, 1)`.

    Example:
        >>> from brittlestar.randomness import LaneDraws
        >>> step = Step(level=np.ones(2), first=np.ones(2, bool), draws=LaneDraws(0, "noise", 2))
        >>> bool((NoisyReward(sigma=0.1).perturb_reward(np.zeros(2), step) != 0).all())
        True
    """

    strength_field: ClassVar[str] = "sigma"
    sigma: float

    def __post_init__(self) -> None:
        require(self.sigma >= 0, "sigma", "at least 0", self.sigma)

    def perturb(self, reward: np.ndarray, step: Step) -> np.ndarray:
        """Adds the noise."""
        return reward + step.of(self, "sigma", reward) * step.draws.normal()


@dataclass
class DelayedReward(RewardPerturbation):
    """Pays every reward `d = level * delay_steps + U{0..jitter_steps}` steps late.

    A scheduled delay is rounded to whole steps; where it is 0, there is no jitter either. What falls due at the same
    step is summed. What is still due at the end of an episode is lost: nobody knows beforehand that a step is the last.

    Example:
        >>> from brittlestar.randomness import LaneDraws
        >>> late, draws, box = DelayedReward(delay_steps=1), LaneDraws(0, "noise", 1), spaces.Box(-1.0, 1.0)
        >>> late.bind(box, box, lanes=1)
        >>> steps = [Step(np.ones(1), np.array([first]), draws) for first in (True, False, False)]
        >>> [float(late.perturb_reward(np.array([reward]), step)[0]) for reward, step in zip([5.0, 6.0, 7.0], steps)]
        [0.0, 5.0, 6.0]
    """

    strength_field: ClassVar[str] = "delay_steps"
    delay_steps: int
    jitter_steps: int = 0

    def __post_init__(self) -> None:
        check_delay(self)

    def bind(self, observation_space: spaces.Space, action_space: spaces.Space, lanes: int) -> None:
        """Forgets all that is due."""
        self._lanes, self._age = np.arange(lanes), np.zeros(lanes, dtype=np.int64)
        self._due = np.zeros((longest_delay(self) + 1, lanes))

    def perturb(self, reward: np.ndarray, step: Step) -> np.ndarray:
        """Pays what is due now."""
        self._age = np.where(step.first, 0, self._age + 1)
        self._due[:, step.first] = 0.0
        depth = len(self._due)
        self._due[(self._age + draw_delay(self, step)) % depth, self._lanes] += reward
        now = self._age % depth, self._lanes
        paid = self._due[now]
        self._due[now] = 0.0
        return paid
