"""brittlestar: measures how a trained policy breaks.

Contents:
    evaluate, sweep, load: the Python API.
    PerturbedEnv: a perturbation around any Gymnasium environment.
    Perturbation, ObservationPerturbation, Step: what a noise model of your own needs.
    Mitigation, Policy, StressSchedule, EnvSpec: the other parts of a cell.
    UserError: every mistake that brittlestar can explain in one line.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "EnvSpec": "envs",
    "Mitigation": "mitigations",
    "ObservationPerturbation": "perturbations",
    "Perturbation": "perturbations",
    "PerturbedEnv": "perturbed_env",
    "Policy": "policies",
    "Step": "perturbations",
    "StressSchedule": "schedules",
    "UserError": "errors",
    "evaluate": "api",
    "load": "api",
    "sweep": "api",
}

__all__ = sorted([*_HOMES, "__version__"])


def __getattr__(name: str) -> Any:
    # Imported on use: `--help` and workers load only what they need.
    if name not in _HOMES:
        raise AttributeError(f"module 'brittlestar' has no attribute {name!r}")
    return getattr(importlib.import_module(f"brittlestar.{_HOMES[name]}"), name)
