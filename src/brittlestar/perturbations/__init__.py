"""Perturbations: everything that can go wrong between a policy and its environment."""

# ruff: noqa: F401
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
    from brittlestar.perturbations.adversarial import (
        AdversarialObservation,
        FgsmObservation,
        MadObservation,
        PgdObservation,
    )
    from brittlestar.perturbations.base import Perturbation
    from brittlestar.perturbations.camera_blurs import GlassBlurredImage, MotionBlurredImage, ZoomBlurredImage
    from brittlestar.perturbations.camera_faults import BlurredImage, ErasedImage, JpegImage, PatchImage
    from brittlestar.perturbations.cameras import (
        CameraAim,
        CameraDistance,
        CameraFieldOfView,
        CameraRotation,
        CameraView,
        ScenePerturbation,
    )
    from brittlestar.perturbations.commands import DelayedAction, DroppedAction, ScaledAction, StickyAction
    from brittlestar.perturbations.compose import ComposedPerturbation, Scheduled
    from brittlestar.perturbations.crosstalk import MixedAction, SwappedAction
    from brittlestar.perturbations.delays import DelayedObservation, HoldObservation, StuckObservation
    from brittlestar.perturbations.discrete import ConfusedObservation, PermutedAction, RandomAction
    from brittlestar.perturbations.fog import FoggyImage
    from brittlestar.perturbations.goals import GoalNoise
    from brittlestar.perturbations.images import BrightnessImage, ContrastImage, GaussianImage, ImagePerturbation
    from brittlestar.perturbations.libero_plus import LiberoPlusImage
    from brittlestar.perturbations.lights import (
        LightAzimuth,
        LightBrightness,
        LightColour,
        LightTemperature,
        SceneLight,
    )
    from brittlestar.perturbations.masking import MaskObservation
    from brittlestar.perturbations.model_changes import ModelChange, NamedChange
    from brittlestar.perturbations.observation_stressors import ConceptDrift, ObservationNoise, SensorBlackout
    from brittlestar.perturbations.observations import ObservationPerturbation, ScaledObservation
    from brittlestar.perturbations.push import Push
    from brittlestar.perturbations.rewards import (
        DelayedReward,
        InvertedReward,
        NoisyReward,
        RewardNoise,
        ScaledReward,
        ValenceInversion,
    )
    from brittlestar.perturbations.sensor_errors import (
        BiasObservation,
        DriftObservation,
        GaussianObservation,
        QuantisedObservation,
        RandomSignObservation,
        ScaleObservation,
        SpikeObservation,
        UniformObservation,
    )
    from brittlestar.perturbations.step import Step
    from brittlestar.perturbations.surroundings import Distractors, SceneColour, SceneTexture
    from brittlestar.perturbations.world import ControlTimestep, EnvParameter, WorldChange
    from brittlestar.perturbations.world_fields import (
        ActuatorGain,
        BodyMass,
        Damping,
        Friction,
        Gravity,
        JointStiffness,
    )

# Imported on use: a cell needs one or two classes, and importing all takes a tenth of a second.
__getattr__, __dir__ = lazily(__name__, __file__)
__all__ = __dir__()
