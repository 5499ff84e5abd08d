"""The typed top level of a cell's config."""

import math
from dataclasses import dataclass
from typing import Any

from brittlestar.errors import UserError

# OmegaConf's mark for a value that the user must set. Workers do not import OmegaConf.
MISSING: Any = "???"
GROUPS = ("env", "policy", "perturbation", "mitigation", "stress_schedule")
"""The config groups that compose one cell."""
SWEEP_GROUPS = ("study", "gate", "tracker")
"""The config groups that a sweep has once: what is made of its cells."""
HUB = "hub:"
"""Prefix of a path that names a repository of the Hugging Face hub."""

_RANGES = {
    "episodes": (1, 10**6),
    "seed": (0, 2**62 - 1),
    "lanes": (1, 2**16),
    "threads": (1, 1024),
    "videos": (0, 100),
}
"""Smallest and largest value of a key. A cell holds one row per episode in memory; calibration passes have the seed
2**62."""
_SWITCHES = ("deterministic", "divergence", "clean")


@dataclass
class Config:
    """One cell; `conf/config.yaml` explains every field.

    Switches have no type here, because OmegaConf takes any number for true; `check_values` refuses it.
    """

    env: Any = MISSING
    policy: Any = MISSING
    perturbation: Any = MISSING
    mitigation: Any = MISSING
    stress_schedule: Any = MISSING
    episodes: int = 100
    seed: int = 0
    episode_seeds: str = "independent"
    deterministic: Any = True
    divergence: Any = False
    record: str | None = None
    clean: Any = False
    lanes: int = 16
    threads: int | None = None
    timeout_minutes: float | None = None
    store: str = "outputs/store"
    videos: int = 0
    study: Any = None
    gate: Any = None
    tracker: Any = None
    role: str | None = None
    check: str | None = None
    models: str | None = None
    model: str | None = None


@dataclass
class ServeConfig:
    """One policy behind a server; `conf/serve.yaml` explains every field."""

    env: Any = MISSING
    policy: Any = MISSING
    host: str = "127.0.0.1"
    port: int = 8000
    token_variable: str | None = "BRITTLESTAR_TOKEN"
    deterministic: Any = True
    repeatable: Any = None


def check_values(config: dict[str, Any]) -> None:
    """Refuses values of top-level keys that no cell can have.

    Example:
        >>> check_values({"threads": -3})
        Traceback (most recent call last):
        brittlestar.errors.UserError: `threads` must be null or at least 1, got -3
    """
    for key, (low, high) in _RANGES.items():
        value, null = config.get(key), "null or " * (key == "threads")
        if value is not None and not low <= value <= high:
            bound = f"at least {low}" if value < low else f"at most {high}"
            more = "; sweep seeds for more: `-m seed=0,1`" if key == "episodes" and value > high else ""
            raise UserError(f"`{key}` must be {null}{bound}, got {value}{more}")
    for key in _SWITCHES:
        if not isinstance(config.get(key, False), bool):
            raise UserError(f"`{key}` must be true or false, got {config[key]}")
    minutes = config.get("timeout_minutes")
    if minutes is not None and not 0 < minutes < math.inf:
        raise UserError(f"`timeout_minutes` must be null, or finite and above 0, got {minutes}")
    if config.get("store", ".") in ("", None):
        raise UserError("`store` must be a folder, got nothing")


def register(schema: type = Config, name: str = "config") -> None:
    """Registers the typed top level of `conf/<name>.yaml` with Hydra."""
    from hydra.core.config_store import ConfigStore

    ConfigStore.instance().store(name=f"base_{name}", node=schema, provider="brittlestar")
