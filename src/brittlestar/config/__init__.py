"""The typed top level of the configuration, and where the yaml files are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from brittlestar.errors import UserError

# OmegaConf's mark for a value that must be given. Workers do not import OmegaConf.
MISSING: Any = "???"
GROUPS = ("env", "policy", "perturbation", "mitigation", "stress_schedule")
"""The config groups that compose one cell."""
HUB = "hub:"
"""A path that starts so is a repository of the Hugging Face hub."""


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
    reference: Any = None
    scoring: str = "rigorous"
    alpha: float = 0.05
    lanes: int = 16
    threads: int | None = None
    store: str = "outputs/store"
    study: str | None = None
    check: str | None = None
    models: str | None = None
    model: str | None = None


@dataclass
class TrainConfig:
    """One training; `conf/train.yaml` explains every field."""

    env: Any = MISSING
    algo: Any = MISSING
    perturbation: Any = MISSING
    mitigation: Any = MISSING
    stress_schedule: Any = MISSING
    seed: int = 0
    steps: int | None = None
    threads: int | None = None
    save_every: int = 20_000
    episodes: int = 100
    store: str = "outputs/training"


@dataclass
class HardenConfig:
    """One hardening; `conf/harden.yaml` explains every field."""

    env: Any = MISSING
    policy: Any = MISSING
    perturbation: Any = MISSING
    mitigation: Any = MISSING
    stress_schedule: Any = MISSING
    algo: Any = None
    levels: Any = None
    episodes: int = 100
    seeds: Any = None
    share: float = 0.9
    measure: str | None = None
    train_level: Any = None
    train_seed: int = 0
    steps: int | None = None
    save_every: int = 20_000
    checkpoint: str = "best"
    deterministic: bool = True
    n_jobs: int = -1
    threads: int | None = None
    store: str = "outputs/store"
    training_store: str = "outputs/training"
    folder: str | None = None


def config_folder() -> Path:
    """Returns the folder of yaml files: inside an installed package, or beside `src` in a checkout."""
    installed = Path(__file__).parents[1] / "conf"
    return installed if installed.is_dir() else Path(__file__).parents[3] / "conf"


def options(group: str, folder: Path | None = None) -> dict[str, Path]:
    """Returns the options of a group and their files; one in a folder of the group has that in its name.

    Example:
        >>> {"sb3", "zoo/cartpole_ppo"} <= set(options("policy"))
        True
    """
    place = (folder or config_folder()) / group
    return {path.relative_to(place).with_suffix("").as_posix(): path for path in sorted(place.rglob("*.yaml"))}


def plain(config: Any) -> dict[str, Any]:
    """Returns a composed config as plain data, resolved; a value that must be given and is not is an error."""
    from omegaconf import OmegaConf

    container = cast("dict[str, Any]", OmegaConf.to_container(config, resolve=True))
    for key in _missing(container):
        raise UserError("; ".join(filter(None, [f"`{key}` needs a value: add `{key}=...`", _advice(key, container)])))
    return container


def _advice(key: str, container: dict[str, Any]) -> str:
    if key != "policy.path" or not str(container["policy"].get("_target_")).endswith("Sb3Policy"):
        return ""
    from brittlestar.config.hints import train_hint

    return train_hint(container)


def _missing(node: dict[str, Any], prefix: str = "") -> Iterator[str]:
    for key, value in node.items():
        if isinstance(value, dict):
            yield from _missing(value, f"{prefix}{key}.")
        elif value == MISSING:
            yield f"{prefix}{key}"


def register() -> None:
    """Tells Hydra about the typed top level."""
    from hydra.core.config_store import ConfigStore

    ConfigStore.instance().store(name="base_config", node=Config, provider="brittlestar")
    ConfigStore.instance().store(name="base_train", node=TrainConfig, provider="brittlestar")
    ConfigStore.instance().store(name="base_harden", node=HardenConfig, provider="brittlestar")
