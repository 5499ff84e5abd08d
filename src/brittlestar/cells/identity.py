"""The hash of a cell, which covers everything that can change its result, and the provenance of a result."""

import functools
import hashlib
import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

from brittlestar.cells.planned_files import Files
from brittlestar.config.build import locate
from brittlestar.envs.backends import package_version

VERSIONED = ("brittlestar", "gymnasium", "gymnasium-robotics", "mujoco", "numpy", "pillow")
"""Packages whose version can change a result."""

HASHED = (
    "__init__", "cells", "checkpoints", "config", "engine", "envs", "errors", "mitigations", "perturbations",
    "policies", "randomness", "schedules",
)  # fmt: skip
"""Rooms whose code can change a result; an edit in any of them computes cells again."""

NEUTRAL = (
    "check", "clean", "gate", "lanes", "models", "role", "store", "study", "threads", "timeout_minutes", "tracker",
    "videos",
)  # fmt: skip
"""Top-level keys that change where, how fast and under which name a cell runs, or other keys of its config."""

LABEL = "model"
"""The user's name for a policy: it distinguishes curves and changes no result."""

NO_PERTURBATION = {"_target_": "brittlestar.perturbations.Perturbation"}
CONSTANT = {"_target_": "brittlestar.schedules.Constant", "level": 1.0, "parameter": None}


def neutral_free(config: dict[str, Any]) -> dict[str, Any]:
    """Returns a copy of a config without the keys that change no result."""
    config = {key: value for key, value in config.items() if key not in (*NEUTRAL, LABEL)}
    parts = {"env": ("lanes",), "policy": _neutral_fields(config.get("policy") or {})}
    return config | {
        part: {key: value for key, value in config[part].items() if key not in neutral}
        for part, neutral in parts.items()
        if neutral
    }


def _neutral_fields(policy: dict[str, Any]) -> tuple[str, ...]:
    """Returns the fields that change no result, by the attribute `neutral_fields` of the class of a policy."""
    kind = locate(policy["_target_"], "policy") if "_target_" in policy else None
    return getattr(kind, "neutral_fields", ())


def cell_hash(config: dict[str, Any], files: Files, simulator: dict[str, str]) -> str:
    """Returns the hash of a cell's config, the files it names, and the versions of the code that computes it.

    `simulator` also holds what the policy depends on outside of this machine.
    """
    parts = [_canonical(config), files, simulator, versions(), engine_digest()]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]


def _canonical(node: Any) -> Any:
    """Writes 1.0 as 1: the same number is the same cell."""
    if isinstance(node, dict):
        return {key: _canonical(value) for key, value in node.items()}
    if isinstance(node, list):
        return [_canonical(value) for value in node]
    return int(node) if isinstance(node, float) and node.is_integer() else node


def provenance(simulator: dict[str, str] | None = None) -> dict[str, Any]:
    """Returns versions, commit, host and command, and the simulator of a cell that ran."""
    facts = {"versions": versions(), "git": _commit(), "host": _host(), "argv": sys.argv}
    return facts if simulator is None else facts | {"simulator": simulator}


@functools.cache
def versions() -> dict[str, str]:
    """Returns the installed version of every package that can change a result."""
    return {name: package_version(name) for name in VERSIONED}


@functools.cache
def engine_digest() -> str:
    """Returns a digest of the code that computes cells, so that a changed engine never reuses old cells."""
    root, total = Path(__file__).parents[1], hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        if path.relative_to(root).with_suffix("").parts[0] in HASHED:
            total.update(path.read_bytes())
    return total.hexdigest()[:16]


@functools.cache
def _host() -> dict[str, Any]:
    return {
        "system": platform.platform(),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "cpus": os.cpu_count(),
        "name": platform.node(),
    }


@functools.cache
def _commit() -> str | None:
    command = ["git", "describe", "--always", "--dirty", "--abbrev=40"]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=5).stdout.strip() or None
    except (OSError, subprocess.TimeoutExpired):
        return None
