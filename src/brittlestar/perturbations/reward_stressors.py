"""Stressors of rewards: inverted and noisy rewards that a learner sees; scores use the true ones."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from brittlestar.errors import NonNegative
from brittlestar.perturbations.context import Context
from brittlestar.perturbations.rewards import InvertedReward, RewardPerturbation
from brittlestar.perturbations.step import Step

_LEAST_STD = 0.1


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
