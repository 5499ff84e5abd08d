"""The typed top level of a cell's config."""

from dataclasses import dataclass
from typing import Any

# OmegaConf's mark for a value that the user must set. Workers do not import OmegaConf.
MISSING: Any = "???"
GROUPS = ("env", "policy", "perturbation", "mitigation", "stress_schedule")
"""The config groups that compose one cell."""
HUB = "hub:"
"""Prefix of a path that names a repository of the Hugging Face hub."""


@dataclass
class Config:
    """One cell; `conf/config.yaml` explains every field."""

    env: Any = MISSING
    policy: Any = MISSING
    perturbation: Any = MISSING
    mitigation: Any = MISSING
    stress_schedule: Any = MISSING
    episodes: int = 100
    seed: int = 0
    episode_seeds: str = "independent"
    deterministic: bool = True
    divergence: bool = False
    record: str | None = None
    clean: bool = False
    lanes: int = 16
    threads: int | None = None
    store: str = "outputs/store"
    study: Any = None
    role: str | None = None
    check: str | None = None
    models: str | None = None
    model: str | None = None


def register(schema: type = Config, name: str = "config") -> None:
    """Registers the typed top level of `conf/<name>.yaml` with Hydra."""
    from hydra.core.config_store import ConfigStore

    ConfigStore.instance().store(name=f"base_{name}", node=schema, provider="brittlestar")
