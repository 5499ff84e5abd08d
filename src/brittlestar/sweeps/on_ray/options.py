"""The settings of `hydra/launcher=ray`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from brittlestar.errors import UserError

_GIGABYTE = 1_000_000_000
_PASSED_ON = (
    "MUJOCO_GL", "PYOPENGL_PLATFORM", "LP_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS",
)  # fmt: skip
"""Environment variables of the driver that the nodes get too."""
_KINDS: dict[str, tuple[type, str]] = {
    "resources": (Mapping, "names with numbers, as in {a100: 1}"),
    "runtime_env": (Mapping, "names with values"),
    "init": (Mapping, "names with values"),
    "extra_files": (list, "a list of files and folders"),
    "ship_code": (bool, "true or false"),
}
_BOUNDS = {
    "num_cpus": (0, "above 0"),
    "minutes_per_task": (0, "above 0"),
    "connect_seconds": (0, "above 0"),
    "checkpoint_minutes": (0, "above 0"),
    "memory_gb": (0, "above 0"),
    "max_in_flight": (0, "above 0"),
    "num_gpus": (-1, "at least 0"),
    "retries": (-1, "at least 0"),
}


@dataclass
class RayOptions:
    """Which cluster, what a task needs, and what travels; `conf/hydra/launcher/ray.yaml` describes each field."""

    address: str | None = None
    num_cpus: float = 1
    num_gpus: float = 0
    memory_gb: float | None = None
    resources: Mapping[str, float] = field(default_factory=dict)
    minutes_per_task: float = 10
    max_in_flight: int | None = None
    retries: int = 3
    ship_code: bool = True
    extra_files: list[str] = field(default_factory=list)
    runtime_env: Mapping[str, Any] = field(default_factory=dict)
    init: Mapping[str, Any] = field(default_factory=dict)
    connect_seconds: float = 60
    checkpoint_minutes: float = 5

    def __post_init__(self) -> None:
        for name, (bound, text) in _BOUNDS.items():
            value = getattr(self, name)
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            is_open = value is None and name in ("memory_gb", "max_in_flight")
            if not is_open and not (is_number and value > bound):
                raise UserError(f"`hydra.launcher.{name}` must be {text}, got {value}")
        for name, (kind, text) in _KINDS.items():
            if not isinstance(getattr(self, name), kind):
                raise UserError(f"`hydra.launcher.{name}` must be {text}, got {getattr(self, name)}")
        if "working_dir" in self.runtime_env:
            raise UserError(
                "`hydra.launcher.runtime_env.working_dir` is set by the launcher: name files in "
                "`hydra.launcher.extra_files`, or set `hydra.launcher.ship_code=false`"
            )
        if str(self.address).startswith("ray://"):
            raise UserError(
                f"`hydra.launcher.address={self.address}`: results do not stream through a Ray client; start the sweep "
                "on a node of the cluster with `hydra.launcher.address=auto`"
            )

    @property
    def is_local(self) -> bool:
        """Whether Ray is started on this machine for the sweep."""
        return self.address in (None, "local")

    def needs(self) -> dict[str, float]:
        """Returns the resources of one task, by Ray's names."""
        memory = int((self.memory_gb or 0) * _GIGABYTE)
        return {"CPU": self.num_cpus, "GPU": self.num_gpus, "memory": memory, **self.resources}

    def for_gateway(self, folder: str) -> dict[str, Any]:
        """Returns what the process that talks to Ray needs; `folder` is what travels to the nodes."""
        variables = {name: os.environ[name] for name in os.environ if name in _PASSED_ON}
        environment = {"working_dir": folder, **self.runtime_env}
        environment["env_vars"] = variables | dict(self.runtime_env.get("env_vars") or {})
        quiet = {"log_to_driver": False, "logging_level": "CRITICAL", "runtime_env": environment}
        address: dict[str, Any] = {"address": "local" if self.is_local else self.address}
        local = {"include_dashboard": False} if self.is_local else {}
        needs = self.needs()
        task = {"num_cpus": needs.pop("CPU"), "num_gpus": needs.pop("GPU"), "memory": needs.pop("memory") or None}
        return {
            "init": {**address, **quiet, **local, **self.init},
            "task": {**task, "resources": needs or None},
            "needs": self.needs(),
        }
