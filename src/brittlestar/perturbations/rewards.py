"""Inverted, scaled, noisy and late rewards for a learner; scores use the true ones."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from gymnasium import spaces

from brittlestar.errors import Finite, Fraction, NonNegative
from brittlestar.perturbations.base import Perturbation
from brittlestar.perturbations.context import Context
from brittlestar.perturbations.delays import Delayed, LaneRing
from brittlestar.perturbations.step import Step

_LEAST_STD = 0.1


@dataclass
class RewardPerturbation(Perturbation):
    """Perturbs rewards: a subclass implements `perturb(reward, step)`."""

    def perturb(self, reward: np.ndarray, step: Step) -> np.ndarray:
        """Returns the perturbed reward; the caller restores the dtype."""
        raise NotImplementedError

    def perturb_reward(self, reward: np.ndarray, step: Step) -> np.ndarray:
        return self.perturb(reward, step).astype(reward.dtype, copy=False)


@dataclass
class InvertedReward(RewardPerturbation):
    """Shows `(1 - 2 * level * inversion) * r`: 0.5 hides the reward, 1 inverts its sign.

    Example:
        >>> InvertedReward(inversion=0.75).perturb_reward(np.array([2.0]), Step.full()).tolist()
        [-1.0]
    """

    strength_field: ClassVar[str] = "inversion"
    inversion: Fraction

    def perturb(self, reward: np.ndarray, step: Step) -> np.ndarray:
        return (1 - 2 * step.of(self, "inversion", reward)) * reward


@dataclass
class ScaledReward(RewardPerturbation):
    """Shows `(1 + level * gain) * r`: -1 hides the reward, 1 doubles it.

    Example:
        >>> ScaledReward(gain=-0.5).perturb_reward(np.array([2.0]), Step.full()).tolist()
        [1.0]
    """

    strength_field: ClassVar[str] = "gain"
    gain: Finite

    def perturb(self, reward: np.ndarray, step: Step) -> np.ndarray:
        return (1 + step.of(self, "gain", reward)) * reward


@dataclass
class NoisyReward(RewardPerturbation):
    """Shows `r + level * sigma * N(0, 1)`.

    Example:
        >>> bool((NoisyReward(sigma=0.1).perturb_reward(np.zeros(2), Step.full(2)) != 0).all())
        True
    """

    strength_field: ClassVar[str] = "sigma"
    sigma: NonNegative

    def perturb(self, reward: np.ndarray, step: Step) -> np.ndarray:
        return reward + step.of(self, "sigma", reward) * step.draws.normal()


@dataclass
class DelayedReward(Delayed, RewardPerturbation):
    """Pays every reward `d = level * delay_steps + U{0..jitter_steps}` steps late.

    Rewards that are due at the same step add up. Rewards that are due after the end of an episode are lost, because
    no step is known to be the last.

    Example:
        >>> late, box = DelayedReward(delay_steps=1), spaces.Box(-1.0, 1.0)
        >>> late.bind(box, box, lanes=1)
        >>> [late.perturb_reward(np.array([reward]), Step.full(first=reward == 5)).item() for reward in (5.0, 6.0, 7.0)]
        [0.0, 5.0, 6.0]
    """

    def bind(self, observation_space: spaces.Space, action_space: spaces.Space, lanes: int) -> None:
        self._due: LaneRing | None = None

    def perturb(self, reward: np.ndarray, step: Step) -> np.ndarray:
        self._due = self._due or self.new_ring(np.float64)
        return self._due.add(reward, self.draw_delay(step), step.first)


@dataclass
class RewardStressor(RewardPerturbation):
    """Reports the absolute change of each reward as `regret`; draws nothing while no lane is stressed."""

    def perturb_reward(self, reward: np.ndarray, step: Step) -> np.ndarray:
        if not step.level.any():
            return reward
        perturbed = super().perturb_reward(reward, step)
        step.report_effect("regret", np.abs(perturbed - reward))
        return perturbed


@dataclass
class ValenceInversion(RewardStressor, InvertedReward):
    """Shows `(1 - 2 * level * inversion) * r` in place of the reward `r`.

    Example:
        >>> step = Step.full()
        >>> ValenceInversion(inversion=1.0).perturb_reward(np.array([2.0]), step), step.effects["regret"]
        (array([-2.]), array([4.]))
    """


@dataclass
class RewardNoise(RewardStressor):
    """Shows `r + level * scale * std * N(0, 1)`.

    `std` is the standard deviation of the rewards of a clean pass. It is 1 if that is below 0.1, because rewards that
    hardly differ (1 at every step) have no meaningful unit.
    """

    strength_field: ClassVar[str] = "scale"
    scale: NonNegative

    def prepare(self, context: Context) -> None:
        std = context.reference().reward_std
        self._unit = std if std >= _LEAST_STD else 1.0

    def perturb(self, reward: np.ndarray, step: Step) -> np.ndarray:
        return reward + step.of(self, "scale", reward) * self._unit * step.draws.normal()
