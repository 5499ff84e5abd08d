"""brittlestar: measures how a trained policy breaks.

Contents:
    evaluate, sweep, load: the Python API.
    PerturbedEnv: a perturbation around any Gymnasium environment.
    Pixels, CameraEnv: what cameras see of an environment, in place of its state.
    standard_dr_sweeps, dr_sweep: success under other lights and cameras.
    Perturbation, ObservationPerturbation, ScaledObservation, Step: what a noise model of your own needs.
    Mitigation, Policy, StressSchedule, EnvSpec: the other parts of a cell.
    Study, Round, Section, Job, Cell, with_keys, with_overrides, markdown, write_rows: what a study of your own needs.
    UserError: every mistake that brittlestar can explain in one line.
"""

# No import here: a command answers no signal before its first module, which is this one.
TYPE_CHECKING = False
if TYPE_CHECKING:
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
    "envs.camera_env": "CameraEnv",
    "envs.pixels": "Pixels",
    "policies": "Policy",
    "reports.sections": "Chart Section",
    "results.format": "markdown",
    "results.load": "Cell",
    "results.write": "write_rows",
    "schedules": "StressSchedule",
    "studies.base": "Study Round with_keys with_overrides",
    "studies.perception.api": "dr_sweep",
    "studies.perception.axes": "standard_dr_sweeps",
}

__all__ = sorted([*" ".join(_HOMES.values()).split(), "__version__"])


def lazily(package: str, homes: dict[str, str] | str) -> "tuple[Callable[[str], Any], Callable[[], list[str]]]":
    """Returns `__getattr__` and `__dir__` of a package whose names are imported on first use.

    `homes` maps a module of the package to the names that are imported from it, with spaces between them; or it is the
    file of the package, whose imports under `if TYPE_CHECKING:` state the same for type checkers too.

    Example:
        >>> get, names = lazily("brittlestar", {"errors": "UserError nearest"})
        >>> get("nearest").__name__, names()
        ('nearest', ['UserError', 'nearest'])
    """
    homes = _static_imports(homes) if isinstance(homes, str) else homes
    modules = {name: module for module, names in homes.items() for name in names.split()}

    def get(name: str) -> "Any":
        import importlib

        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(f"{package}.{modules[name]}"), name)

    return get, lambda: sorted(modules)


def _static_imports(file: str) -> dict[str, str]:
    import ast
    from pathlib import Path

    blocks = [node.body for node in ast.parse(Path(file).read_text()).body if isinstance(node, ast.If)]
    imports = [node for block in blocks for node in block if isinstance(node, ast.ImportFrom)]
    return {str(node.module).rpartition(".")[2]: " ".join(name.name for name in node.names) for node in imports}


# Imported on use: `--help` and workers load only what they need.
__getattr__, __dir__ = lazily(__name__, _HOMES)
