"""Everything that can go wrong between a policy and its environment."""

from brittlestar.perturbations.base import ObservationPerturbation, Perturbation, Step
from brittlestar.perturbations.compose import Compose
from brittlestar.perturbations.gaussian import GaussianAction, GaussianObservation

__all__ = ["Compose", "GaussianAction", "GaussianObservation", "ObservationPerturbation", "Perturbation", "Step"]
