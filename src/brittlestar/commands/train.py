"""Trains a policy, or a grid of policies with `-m`."""

import traceback
from pathlib import Path
from typing import Any

from brittlestar.commands.hydra_app import print_help, read_arguments, run_hydra
from brittlestar.commands.terminal import command
from brittlestar.errors import UserError


@command
def main() -> None:
    """Trains one policy, or a grid with `-m`."""
    print_help("train")
    read_arguments()
    from brittlestar.training.schema import TrainConfig

    run_hydra(_train, "train", TrainConfig)


def _train(config: Any) -> UserError | None:
    """Trains what Hydra composed; in a grid, an error is recorded for the table and returned: the others continue."""
    from hydra.core.hydra_config import HydraConfig
    from hydra.types import RunMode

    from brittlestar.config import plain_config
    from brittlestar.engine.cores import cores
    from brittlestar.training import grid
    from brittlestar.training.train import train

    hydra = HydraConfig.get()
    if hydra.mode == RunMode.RUN:
        train(_completed(plain_config(config), hydra), cores())
        return None
    outcome = grid.TrainingOutcome(list(hydra.overrides.task))
    try:
        share = grid.share_of_cores(hydra)
        name = "" if share == cores() else " ".join(outcome.overrides)
        outcome.folder = str(train(_completed(plain_config(config), hydra), share, name))
    except UserError as error:
        outcome.error = str(error)
    except Exception as error:
        traceback.print_exc()
        outcome.error = f"{type(error).__name__}: {' '.join(str(error).split())}"
    outcome.write(Path(hydra.runtime.output_dir))
    return UserError(outcome.error) if outcome.error else None


def _completed(config: dict[str, Any], hydra: Any) -> dict[str, Any]:
    """Returns a config with what a shipped option knows about an environment that is named by its id.

    Overrides of the algorithm win over its settings for the environment.
    """
    from brittlestar.cells.env_choice import choose_env
    from brittlestar.training.explicit_options import prefer_explicit

    env = choose_env(config, {"env": hydra.runtime.choices.get("env")}, hydra.overrides.task)
    for note in env.notes:
        print(f"note: {note}", flush=True)
    return prefer_explicit(config | {"env": env.node}, hydra.overrides.task)
