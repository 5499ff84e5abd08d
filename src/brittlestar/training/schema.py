"""The typed top level of a training's config."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from brittlestar.config import MISSING


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
