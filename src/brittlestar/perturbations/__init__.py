"""Everything that can go wrong between a policy and its environment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from brittlestar import lazily

if TYPE_CHECKING:
    from brittlestar.perturbations.action_stressors import ResourceConstraint, TrustViolation
    from brittlestar.perturbations.actions import ActionPerturbation
    from brittlestar.perturbations.actuators import (
        BacklashAction,
        BiasAction,
        DeadBandAction,
        GaussianAction,
        SaturatedAction,
        UniformAction,
    )
    from brittlestar.perturbations.additive import (
        BiasObservation,
        DriftObservation,
        SpikeObservation,
        UniformObservation,
    )
    from brittlestar.perturbations.adversarial import (
        AdversarialObservation,
        FgsmObservation,
        MadObservation,
        PgdObservation,
    )
    from brittlestar.perturbations.base import ObservationPerturbation, Perturbation, ScaledObservation, Step
    from brittlestar.perturbations.commands import DelayedAction, DroppedAction, ScaledAction, StickyAction
    from brittlestar.perturbations.compose import ComposedPerturbation, Scheduled
    from brittlestar.perturbations.crosstalk import MixedAction, SwappedAction
    from brittlestar.perturbations.discrete import ConfusedObservation
    from brittlestar.perturbations.discrete_actions import PermutedAction, RandomAction
    from brittlestar.perturbations.distorted import QuantisedObservation, ScaleObservation
    from brittlestar.perturbations.gaussian import GaussianObservation
    from brittlestar.perturbations.goals import GoalNoise
    from brittlestar.perturbations.image_codecs import BlurredImage, JpegImage
    from brittlestar.perturbations.images import BrightnessImage, ContrastImage, GaussianImage, ImagePerturbation
    from brittlestar.perturbations.masking import MaskObservation
    from brittlestar.perturbations.observation_stressors import ConceptDrift, ObservationNoise, SensorBlackout
    from brittlestar.perturbations.occlusions import ErasedImage, PatchImage
    from brittlestar.perturbations.push import Push
    from brittlestar.perturbations.random_sign import RandomSignObservation
    from brittlestar.perturbations.reward_stressors import RewardNoise, ValenceInversion
    from brittlestar.perturbations.rewards import DelayedReward, InvertedReward, NoisyReward, ScaledReward
    from brittlestar.perturbations.timing import DelayedObservation, HoldObservation, StuckObservation
    from brittlestar.perturbations.world import ModelChange, NamedChange, WorldChange
    from brittlestar.perturbations.world_attributes import ControlTimestep, EnvParameter
    from brittlestar.perturbations.world_fields import (
        ActuatorGain,
        BodyMass,
        Damping,
        Friction,
        Gravity,
        JointStiffness,
    )

_HOMES = {
    "actions": "ActionPerturbation",
    "actuators": "BacklashAction BiasAction DeadBandAction GaussianAction SaturatedAction UniformAction",
    "additive": "BiasObservation DriftObservation SpikeObservation UniformObservation",
    "adversarial": "AdversarialObservation FgsmObservation MadObservation PgdObservation",
    "base": "ObservationPerturbation Perturbation ScaledObservation Step",
    "action_stressors": "ResourceConstraint TrustViolation",
    "reward_stressors": "RewardNoise ValenceInversion",
    "commands": "DelayedAction DroppedAction ScaledAction StickyAction",
    "compose": "ComposedPerturbation Scheduled",
    "crosstalk": "MixedAction SwappedAction",
    "discrete": "ConfusedObservation",
    "discrete_actions": "PermutedAction RandomAction",
    "distorted": "QuantisedObservation ScaleObservation",
    "gaussian": "GaussianObservation",
    "goals": "GoalNoise",
    "image_codecs": "BlurredImage JpegImage",
    "images": "BrightnessImage ContrastImage GaussianImage ImagePerturbation",
    "masking": "MaskObservation",
    "occlusions": "ErasedImage PatchImage",
    "push": "Push",
    "random_sign": "RandomSignObservation",
    "rewards": "DelayedReward InvertedReward NoisyReward ScaledReward",
    "observation_stressors": "ConceptDrift ObservationNoise SensorBlackout",
    "timing": "DelayedObservation HoldObservation StuckObservation",
    "world": "ModelChange NamedChange WorldChange",
    "world_attributes": "ControlTimestep EnvParameter",
    "world_fields": "ActuatorGain BodyMass Damping Friction Gravity JointStiffness",
}

__all__ = [
    "ActionPerturbation",
    "ActuatorGain",
    "AdversarialObservation",
    "BacklashAction",
    "BiasAction",
    "BiasObservation",
    "BlurredImage",
    "BodyMass",
    "BrightnessImage",
    "ComposedPerturbation",
    "ConceptDrift",
    "ConfusedObservation",
    "ContrastImage",
    "ControlTimestep",
    "Damping",
    "DeadBandAction",
    "DelayedAction",
    "DelayedObservation",
    "DelayedReward",
    "DriftObservation",
    "DroppedAction",
    "EnvParameter",
    "ErasedImage",
    "FgsmObservation",
    "Friction",
    "GaussianAction",
    "GaussianImage",
    "GaussianObservation",
    "GoalNoise",
    "Gravity",
    "HoldObservation",
    "ImagePerturbation",
    "InvertedReward",
    "JointStiffness",
    "JpegImage",
    "MadObservation",
    "MaskObservation",
    "MixedAction",
    "ModelChange",
    "NamedChange",
    "NoisyReward",
    "ObservationNoise",
    "ObservationPerturbation",
    "PatchImage",
    "PermutedAction",
    "Perturbation",
    "PgdObservation",
    "Push",
    "QuantisedObservation",
    "RandomAction",
    "RandomSignObservation",
    "ResourceConstraint",
    "RewardNoise",
    "SaturatedAction",
    "ScaleObservation",
    "ScaledAction",
    "ScaledObservation",
    "ScaledReward",
    "Scheduled",
    "SensorBlackout",
    "SpikeObservation",
    "Step",
    "StickyAction",
    "StuckObservation",
    "SwappedAction",
    "TrustViolation",
    "UniformAction",
    "UniformObservation",
    "ValenceInversion",
    "WorldChange",
]

# Imported on use: a cell needs one or two of them, and all take a tenth of a second.
__getattr__, __dir__ = lazily(__name__, _HOMES)
