"""The typed top level of a hardening's config."""

from dataclasses import dataclass
from typing import Any

from brittlestar.config import MISSING


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
