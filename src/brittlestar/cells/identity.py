"""What a cell is: the hash of everything that can change its result, and where it came from."""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import importlib.util
import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from brittlestar.checkpoints.file_names import ACTING
from brittlestar.config import HUB
from brittlestar.config.build import build
from brittlestar.envs import backends
from brittlestar.policies.zoo import cards as zoo

VERSIONED = ("brittlestar", "gymnasium", "gymnasium-robotics", "mujoco", "numpy", "pillow")
"""Packages whose version can change a result."""

HASHED = (
    "checkpoints", "config", "engine", "envs", "mitigations", "perturbations", "policies", "randomness", "schedules",
)  # fmt: skip
"""Rooms whose code can change a result; an edit in any of them computes cells anew."""

NEUTRAL = ("check", "clean", "lanes", "models", "role", "store", "study", "threads")
"""Top-level keys that change where, how fast and under which name a cell runs, or the groups of its config."""

LABEL = "model"
"""What the user calls a policy: tells curves apart, and changes no result either."""

NONE = {"_target_": "brittlestar.perturbations.Perturbation"}
CONSTANT = {"_target_": "brittlestar.schedules.Constant", "level": 1.0, "parameter": None}


def cell_config(config: dict[str, Any]) -> dict[str, Any]:
    """Returns the part of a resolved config that the result depends on.

    A perturbation of strength 0 is the same as none, whatever its name; `backend: auto` is the one it chooses.
    """
    cell = {key: value for key, value in config.items() if key not in (*NEUTRAL, LABEL)}
    cell["env"] = {key: value for key, value in config["env"].items() if key != "lanes"}
    cell["env"]["backend"] = simulator(config)["backend"]
    if is_identity(json.dumps(config["perturbation"], sort_keys=True)):
        cell["perturbation"] = NONE
    return cell


def cell_hash(config: dict[str, Any]) -> str:
    """Returns the hash of a resolved config, the files it names, and the versions of what computes it."""
    cell = cell_config(config)
    parts = [_canonical(cell), contents(cell), simulator(config), versions(), engine_digest()]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]


def contents(node: Any) -> list[str]:
    """Returns digests of all files that a config node names."""
    return sorted(digest(path) for path in set(_files(node)))


def simulator(config: dict[str, Any]) -> dict[str, str]:
    """Returns the backend that steps a cell's environments, and the version of EnvPool or ale-py where it is that."""
    env, chosen = config["env"], "gymnasium"
    if env.get("_target_") == "brittlestar.envs.EnvSpec":
        consecutive = config.get("episode_seeds") == "consecutive"
        chosen = backends.choose(
            env.get("backend", "auto"),
            str(env.get("id")),
            env.get("kwargs") or (),
            consecutive=consecutive,
            needs_model=needs_world(json.dumps(config["perturbation"], sort_keys=True)),
        )
    found = {"backend": chosen} | ({"envpool": backends.version()} if chosen == "envpool" else {})
    return found | ({"ale-py": _version("ale-py")} if env.get("_target_") == "brittlestar.envs.atari.AtariSpec" else {})


def _canonical(node: Any) -> Any:
    """Writes 1.0 as 1: the same number is the same cell."""
    if isinstance(node, dict):
        return {key: _canonical(value) for key, value in node.items()}
    if isinstance(node, list):
        return [_canonical(value) for value in node]
    return int(node) if isinstance(node, float) and node.is_integer() else node


@functools.lru_cache(maxsize=4096)
def is_identity(perturbation: str) -> bool:
    """Says whether a perturbation node, as JSON, changes nothing."""
    return bool(build(json.loads(perturbation), "perturbation").is_identity)


@functools.lru_cache(maxsize=4096)
def needs_world(perturbation: str) -> bool:
    """Says whether a perturbation node, as JSON, edits the simulator, if only at another strength."""
    return bool(build(json.loads(perturbation), "perturbation").needs_world)


def provenance(config: dict[str, Any] | None = None) -> dict[str, Any]:
    """Returns versions, commit and host, and the simulator of a cell: what it takes to believe or repeat it."""
    facts = {"versions": versions(), "git": _commit(), "host": _host(), "argv": sys.argv}
    return facts if config is None else facts | {"simulator": simulator(config)}


@functools.cache
def versions() -> dict[str, str]:
    """Returns the installed version of every package that can change a result."""
    return {name: _version(name) for name in VERSIONED}


@functools.cache
def engine_digest() -> str:
    """Returns a digest of the code that computes cells, so that a changed engine never reuses old cells."""
    root, total = Path(__file__).parents[1], hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        if path.relative_to(root).with_suffix("").parts[0] in HASHED:
            total.update(path.read_bytes())
    return total.hexdigest()[:16]


def digest(path: str) -> str:
    """Returns the digest of a file's content; remembered until the file changes."""
    stat = os.stat(path)
    return _digest(path, stat.st_size, stat.st_mtime_ns)


@functools.lru_cache(maxsize=1024)
def _digest(path: str, size: int, changed: int) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]


def _files(node: Any) -> Iterator[str]:
    """Finds the files behind a config: policies by path, and the source of classes from other packages."""
    if isinstance(node, list):
        for item in node:
            yield from _files(item)
    elif isinstance(node, dict):
        if node.get("_target_") == zoo.TARGET:
            yield from map(str, zoo.files(str(node.get("name"))))
        for key, value in node.items():
            if key in ("_target_", "path", "statistics") and isinstance(value, str):
                yield from _file(value, is_class=key == "_target_")
            else:
                yield from _files(value)


def _file(value: str, is_class: bool) -> Iterator[str]:
    if value.startswith(HUB):
        from brittlestar.checkpoints.hub import fetch

        yield from map(str, fetch(value))
        return
    path = Path(value).expanduser()
    if not is_class and path.exists():
        # A checkpoint may be a folder, or have its statistics and records beside it or in a folder of its name.
        folder = path if path.is_dir() else path.with_suffix("")
        beside = [] if path.is_dir() else [path, *map(path.with_name, ACTING)]
        yield from (str(file) for file in (*beside, *folder.glob("*"), *folder.glob("*/*")) if file.is_file())
        return
    module = value.rpartition(".")[0] if is_class or ":" not in value else value.partition(":")[0]
    source = _source(module)
    if source:
        yield source


@functools.lru_cache(maxsize=256)
def _source(module: str) -> str | None:
    if not module or module.partition(".")[0] == "brittlestar":
        return None
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError):
        return None
    return spec.origin if spec and spec.origin and os.path.isfile(spec.origin) else None


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "absent"


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
