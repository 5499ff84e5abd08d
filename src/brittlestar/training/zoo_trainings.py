"""Trains the zoo by its recipes."""

from __future__ import annotations

import contextlib
import os
import queue
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from brittlestar.errors import UserError
from brittlestar.policies.zoo.cards import HOME, is_shipped, read_card, recipe


def compose(overrides: Sequence[str]) -> dict[str, Any]:
    """Returns the config of a training, as `brittlestar train` composes it.

    Example:
        >>> compose(["env=cartpole", "algo=ppo", "seed=3"])["seed"]
        3
    """
    import hydra
    from hydra.core.global_hydra import GlobalHydra

    from brittlestar.config import config_folder, plain_config, register
    from brittlestar.sweeps.hydra_errors import explain
    from brittlestar.training.schema import TrainConfig

    register(TrainConfig, "train")
    instance = GlobalHydra.instance()
    kept = instance.hydra
    instance.clear()
    try:
        with hydra.initialize_config_dir(str(config_folder()), version_base="1.3"):
            return plain_config(hydra.compose("train", list(overrides)))
    except Exception as error:
        line = explain(error, "train", overrides)
        if line is None:
            raise
        raise UserError(line) from None
    finally:
        instance.hydra = kept


def train_recipe(name: str, more: Sequence[str] = (), home: Path = HOME) -> bool:
    """Trains one policy, or goes on with it, and adopts it; says whether there was anything to do.

    Args:
        name: of the recipe.
        more: further overrides of `brittlestar train`.
        home: folder of the policies.
    """
    from brittlestar.training.adoption import adopt
    from brittlestar.training.folder import METADATA, training_folder
    from brittlestar.training.train import train

    config = compose([*recipe(name), *more])
    folder = training_folder(config)
    trained = (folder / METADATA).is_file()
    if trained and is_shipped(name, home) and read_card(name, home)["training"] == folder.name:
        return False
    train(config)
    adopt(name, folder, home)
    return True


def stored(folder: str) -> str:
    """Returns the override that puts trainings into a folder.

    Example:
        >>> stored("my trainings")
        "store='my trainings'"
    """
    quoted = folder.replace("'", "\\'")
    return f"store='{quoted}'"


def train_side_by_side(
    names: Sequence[str], jobs: int, store: str, more: Sequence[str] = (), home: Path = HOME
) -> list[str]:
    """Trains several in processes of their own, each on its share of the cores; returns those that failed.

    Args:
        names: of the recipes.
        jobs: how many at a time.
        store: folder of the trainings, and of a log for each.
        more: further overrides of `brittlestar train`.
        home: folder of the policies.
    """
    shares: queue.SimpleQueue[list[int]] = queue.SimpleQueue()
    for share in _shares(jobs):
        shares.put(share)
    Path(store).mkdir(parents=True, exist_ok=True)

    def one(name: str) -> bool:
        with _taken(shares) as share:
            log = Path(store) / f"{name}.log"
            print(f"{name}: training, see {log}", flush=True)
            words = [name, str(home), ",".join(map(str, share)), stored(store), *more]
            command = [sys.executable, "-m", "brittlestar.training.zoo_trainings", *words]
            with log.open("a") as file:
                code = subprocess.run(command, stdout=file, stderr=subprocess.STDOUT).returncode
            last = (log.read_text().strip().splitlines() or [""])[-1]
            print(f"{name}: {'done' if code == 0 else f'failed: {last}'}", flush=True)
            return code == 0

    with ThreadPoolExecutor(jobs) as pool:
        try:
            return [name for name, done in zip(names, pool.map(one, names), strict=True) if not done]
        except KeyboardInterrupt:
            # Those that run were interrupted, too; those that wait must not start now.
            pool.shutdown(cancel_futures=True)
            raise


def _shares(jobs: int) -> list[list[int]]:
    """Divides the cores; with more jobs than cores, some share one."""
    if not hasattr(os, "sched_getaffinity"):
        return [[] for _ in range(jobs)]
    cores = sorted(os.sched_getaffinity(0))
    return [cores[i::jobs] or [cores[i % len(cores)]] for i in range(jobs)]


@contextlib.contextmanager
def _taken(shares: queue.SimpleQueue[list[int]]) -> Iterator[list[int]]:
    share = shares.get()
    try:
        yield share
    finally:
        shares.put(share)


def _main() -> None:
    name, home, cores, *more = sys.argv[1:]
    if cores:
        os.sched_setaffinity(0, [int(core) for core in cores.split(",")])
    try:
        train_recipe(name, more, Path(home))
    except UserError as error:
        sys.exit(f"brittlestar: {error}")
    except KeyboardInterrupt as stop:
        sys.exit(f"brittlestar: {str(stop) or 'interrupted'}; the same command goes on from the last checkpoint")


if __name__ == "__main__":
    _main()
