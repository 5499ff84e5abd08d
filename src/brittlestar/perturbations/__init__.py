"""Everything that can go wrong between a policy and its environment."""

from brittlestar.perturbations.actions import ActionPerturbation
from brittlestar.perturbations.base import ObservationPerturbation, Perturbation, ScaledObservation, Step
from brittlestar.perturbations.commands import DelayedAction, DroppedAction, ScaledAction, StickyAction
from brittlestar.perturbations.compose import Compose, Scheduled
from brittlestar.perturbations.discrete_actions import PermutedAction, RandomAction
from brittlestar.perturbations.gaussian import GaussianAction, GaussianObservation
from brittlestar.perturbations.image_codecs import BlurredImage, JpegImage
from brittlestar.perturbations.images import BrightnessImage, ContrastImage, GaussianImage, ImagePerturbation
from brittlestar.perturbations.occlusions import ErasedImage, PatchImage
from brittlestar.perturbations.rewards import DelayedReward, InvertedReward, NoisyReward, ScaledReward

__all__ = [
    "ActionPerturbation",
    "BlurredImage",
    "BrightnessImage",
    "Compose",
    "ContrastImage",
    "DelayedAction",
    "DelayedReward",
    "DroppedAction",
    "ErasedImage",
    "GaussianAction",
    "GaussianImage",
    "GaussianObservation",
    "ImagePerturbation",
    "InvertedReward",
    "JpegImage",
    "NoisyReward",
    "ObservationPerturbation",
    "PatchImage",
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
