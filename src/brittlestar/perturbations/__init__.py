"""Everything that can go wrong between a policy and its environment."""

from brittlestar.perturbations.base import ObservationPerturbation, Perturbation, ScaledObservation, Step
from brittlestar.perturbations.compose import Compose, Scheduled
from brittlestar.perturbations.gaussian import GaussianAction, GaussianObservation

__all__ = [
    "Compose",
    "GaussianAction",
    "GaussianObservation",
    "ObservationPerturbation",
    "Perturbation",
    "ScaledObservation",
    "Scheduled",
    "Step",
]
