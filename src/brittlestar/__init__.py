"""brittlestar: measures how a trained policy breaks.

Contents:
    evaluate, sweep, load: the Python API.
    PerturbedEnv: a perturbation around any Gymnasium environment.
    Perturbation, ObservationPerturbation, ScaledObservation, Step: what a noise model of your own needs.
    Mitigation, Policy, StressSchedule, EnvSpec: the other parts of a cell.
    Study, Section, Job, Cell, with_keys, markdown, write_rows: what a study of your own needs.
    UserError: every mistake that brittlestar can explain in one line.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "cells.run": "Job",
    "commands.notebook": "evaluate sweep",
    "config.build": "load",
    "envs": "EnvSpec",
    "errors": "UserError",
    "mitigations": "Mitigation",
    "perturbations": "ObservationPerturbation Perturbation ScaledObservation Step",
    "engine.perturbed_env": "PerturbedEnv",
    "policies": "Policy",
    "reports.sections": "Section",
    "results.format": "markdown",
    "results.load": "Cell",
    "results.write": "write_rows",
    "schedules": "StressSchedule",
    "studies.base": "Study with_keys",
}

__all__ = sorted([*" ".join(_HOMES.values()).split(), "__version__"])


def lazily(package: str, homes: dict[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Returns `__getattr__` and `__dir__` of a package.

    Args:
        package: its name.
        homes: module of the package to the names that are imported from it, with spaces between them.

    Example:
        >>> get, names = lazily("brittlestar", {"errors": "UserError nearest"})
        >>> get("nearest").__name__, names()
        ('nearest', ['UserError', 'nearest'])
    """
    found = {name: module for module, names in homes.items() for name in names.split()}

    def get(name: str) -> Any:
        if name not in found:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(f"{package}.{found[name]}"), name)

    return get, lambda: sorted(found)


# Imported on use: `--help` and workers load only what they need.
__getattr__, __dir__ = lazily(__name__, _HOMES)
