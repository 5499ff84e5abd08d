"""brittlestar: measures how a trained policy breaks.

Contents:
    evaluate, sweep, load: the Python API.
    PerturbedEnv: a perturbation around any Gymnasium environment.
    Perturbation, ObservationPerturbation, ScaledObservation, Step: what a noise model of your own needs.
    Mitigation, Policy, StressSchedule, EnvSpec: the other parts of a cell.
    UserError: every mistake that brittlestar can explain in one line.
"""

from __future__ import annotations

from brittlestar.lazy import lazily

__version__ = "0.1.0"

_HOMES = {
    "api": "evaluate load sweep",
    "envs": "EnvSpec",
    "errors": "UserError",
    "mitigations": "Mitigation",
    "perturbations": "ObservationPerturbation Perturbation ScaledObservation Step",
    "engine.perturbed_env": "PerturbedEnv",
    "policies": "Policy",
    "schedules": "StressSchedule",
}

__all__ = sorted([*" ".join(_HOMES.values()).split(), "__version__"])

# Imported on use: `--help` and workers load only what they need.
__getattr__, __dir__ = lazily(__name__, _HOMES)
