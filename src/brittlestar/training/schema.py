"""The typed top level of a training's config, and how Python composes one."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from brittlestar.config import MISSING, config_folder, plain_config, register
from brittlestar.errors import UserError


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


def compose_training(overrides: Sequence[str]) -> dict[str, Any]:
    """Returns the config that the command `train` composes from the same overrides.

    Example:
        >>> compose_training(["env=cartpole", "algo=ppo", "seed=3"])["seed"]
        3
    """
    import hydra
    from hydra.core.global_hydra import GlobalHydra

    from brittlestar.sweeps.hydra_errors import explain
    from brittlestar.training.explicit_options import prefer_explicit

    register(TrainConfig, "train")
    instance = GlobalHydra.instance()
    outer = instance.hydra
    instance.clear()
    try:
        with hydra.initialize_config_dir(str(config_folder()), version_base="1.3"):
            return prefer_explicit(plain_config(hydra.compose("train", list(overrides))), overrides)
    except Exception as error:
        line = explain(error, "train", overrides)
        if line is None:
            raise
        raise UserError(line) from None
    finally:
        instance.hydra = outer
