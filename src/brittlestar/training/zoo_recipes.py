"""Trains the policies of the zoo by their recipes.

`python -m brittlestar.training.zoo_recipes NAME FOLDER [OVERRIDES]` trains one; `train_side_by_side` starts that for
each of several.
"""

import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from brittlestar.errors import UserError
from brittlestar.policies.zoo.cards import HOME, is_shipped, read_card, recipe
from brittlestar.training.folder import METADATA, training_folder
from brittlestar.training.schema import compose_training
from brittlestar.training.train import train
from brittlestar.training.zoo_adoption import WeakerError, adopt

WEAKER = "weaker.txt"
"""In the folder of a training that the zoo refused: why."""


def train_recipe(name: str, overrides: Sequence[str] = (), home: Path = HOME) -> bool:
    """Trains one policy with further overrides, or continues, and adopts it; returns False if that was done before.

    A training that is weaker than the policy of the zoo is not adopted, and that is done once, too.
    """
    config = compose_training([*recipe(name), *overrides])
    folder = training_folder(config)
    is_trained = (folder / METADATA).is_file()
    is_adopted = is_shipped(name, home) and read_card(name, home)["training"] == folder.name
    if is_trained and (is_adopted or (folder / WEAKER).is_file()):
        return False
    train(config)
    try:
        adopt(name, folder, home)
    except WeakerError as error:
        print(error)
        (folder / WEAKER).write_text(f"{error}\n")
    return True


def store_override(folder: str) -> str:
    """Returns the override that puts trainings into a folder.

    Example:
        >>> store_override("my trainings")
        "store='my trainings'"
    """
    quoted = folder.replace("'", "\\'")
    return f"store='{quoted}'"


def train_side_by_side(
    names: Sequence[str], jobs: int, store: str, overrides: Sequence[str] = (), home: Path = HOME
) -> list[str]:
    """Trains recipes in processes of their own, `jobs` at a time; returns those that failed.

    Each has its share of the cores. The folder `store` gets the trainings and a log for each.
    """
    shares = _shares(jobs)
    Path(store).mkdir(parents=True, exist_ok=True)

    def train_one(name: str) -> bool:
        log = Path(store) / f"{name}.log"
        print(f"{name}: training, see {log}", flush=True)
        command = [sys.executable, "-m", __name__, name, str(home), store_override(store), *overrides]
        with log.open("a") as file:
            code = subprocess.run(command, stdout=file, stderr=subprocess.STDOUT).returncode
        last = (log.read_text().strip().splitlines() or [""])[-1]
        print(f"{name}: {'done' if code == 0 else f'failed: {last}'}", flush=True)
        return code == 0

    with ThreadPoolExecutor(jobs, initializer=lambda: _bind(shares.pop())) as pool:
        try:
            return [name for name, done in zip(names, pool.map(train_one, names), strict=True) if not done]
        except KeyboardInterrupt:
            # The running trainings are interrupted, too; those that wait must not start.
            pool.shutdown(cancel_futures=True)
            raise


def _shares(jobs: int) -> list[list[int]]:
    """Divides the cores; with more jobs than cores, some share one."""
    if not hasattr(os, "sched_getaffinity"):
        return [[] for _ in range(jobs)]
    cores = sorted(os.sched_getaffinity(0))
    return [cores[i::jobs] or [cores[i % len(cores)]] for i in range(jobs)]


def _bind(cores: list[int]) -> None:
    """Binds the calling thread, and the processes that it starts, to some cores."""
    if cores:
        os.sched_setaffinity(0, cores)


if __name__ == "__main__":
    try:
        train_recipe(sys.argv[1], sys.argv[3:], Path(sys.argv[2]))
    except UserError as error:
        sys.exit(f"brittlestar: {error}")
    except KeyboardInterrupt as stop:
        sys.exit(f"brittlestar: {str(stop) or 'interrupted'}; the same command continues from the last checkpoint")
