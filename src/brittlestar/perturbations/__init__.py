"""Everything that can go wrong between a policy and its environment."""

from brittlestar.perturbations.actions import ActionPerturbation
from brittlestar.perturbations.base import ObservationPerturbation, Perturbation, ScaledObservation, Step
from brittlestar.perturbations.commands import DelayedAction, DroppedAction, ScaledAction, StickyAction
from brittlestar.perturbations.compose import Compose, Scheduled
from brittlestar.perturbations.discrete_actions import PermutedAction, RandomAction
from brittlestar.perturbations.gaussian import GaussianAction, GaussianObservation
from brittlestar.perturbations.rewards import DelayedReward, InvertedReward, NoisyReward, ScaledReward

__all__ = [
    "ActionPerturbation",
    "Compose",
    "DelayedAction",
    "DelayedReward",
    "DroppedAction",
    "GaussianAction",
    "GaussianObservation",
    "InvertedReward",
    "NoisyReward",
    "ObservationPerturbation",
    "PermutedAction",
    "Perturbation",
    "RandomAction",
    "ScaledAction",
    "ScaledObservation",
    "ScaledReward",
    "Scheduled",
    "Step",
    "StickyAction",
]
