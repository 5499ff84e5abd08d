"""Trains a policy: `brittlestar train env=fetch_reach algo=sac_her seed=0`."""

from __future__ import annotations

import os
import sys
import traceback
from pathlib import Path
from typing import Any, NoReturn

from brittlestar.commands.run import INTERRUPTED, expand_arguments, run_hydra
from brittlestar.commands.terminal import quiet_end
from brittlestar.errors import UserError


@quiet_end
def main() -> None:
    """Trains one policy, or a grid with `-m`."""
    if {"-h", "--help"} & set(sys.argv[1:]):
        from brittlestar.commands.help import train_help

        print(train_help())
        return
    sys.path.append(os.getcwd())
    expand_arguments()
    from brittlestar.training.schema import TrainConfig

    run_hydra(task, "train", TrainConfig)


def task(config: Any) -> None:
    """Trains what Hydra composed; in a grid, an error is kept for the table, and the others go on."""
    from hydra.core.hydra_config import HydraConfig
    from hydra.types import RunMode

    from brittlestar.config import plain_config
    from brittlestar.engine.cores import cores
    from brittlestar.training import grid
    from brittlestar.training.stopping import StoppedError
    from brittlestar.training.train import train

    hydra = HydraConfig.get()
    alone = hydra.mode == RunMode.RUN
    outcome = grid.Outcome(list(hydra.overrides.task))
    try:
        share = cores() if alone else grid.share_of_cores(hydra)
        name = "" if alone or share == cores() else " ".join(outcome.overrides)
        folder = train(plain_config(config), share, name)
        outcome.folder = str(folder)
    except StoppedError as stop:
        _end(f"stopped after {stop.steps:,} steps, all of them kept; the same command goes on from there", INTERRUPTED)
    except KeyboardInterrupt:
        _end("interrupted; the same command goes on from the last checkpoint", INTERRUPTED)
    except UserError as error:
        outcome.error = str(error)
        if alone:
            # Hydra would report an exception of a job in its own words.
            _end(outcome.error)
    except Exception as error:
        if alone:
            raise
        traceback.print_exc()
        outcome.error = f"{type(error).__name__}: {' '.join(str(error).split())}"
    if not alone:
        outcome.write(Path(hydra.runtime.output_dir))


def _end(line: str, code: int = 1) -> NoReturn:
    sys.stderr.write(f"brittlestar: {line}\n")
    sys.exit(code)
