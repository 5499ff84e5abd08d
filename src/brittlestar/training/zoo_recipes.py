"""Trains the policies of the zoo by their recipes.

`python -m brittlestar.training.zoo_recipes NAME FOLDER [OVERRIDES]` trains one; `train_side_by_side` starts that for
each of several.
"""

import os
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from brittlestar.cells.files import check_writable
from brittlestar.errors import Interrupted, UserError
from brittlestar.policies.zoo.cards import HOME, is_shipped, policy_name, read_card, recipe, zoo_options
from brittlestar.training.child_processes import Children, end_with_parent
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
        adopt(name, folder, home, overrides)
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

    Each has its share of the cores. The folder `store` gets the trainings and a log for each. A recipe with an expert
    of another one waits for that. An interruption ends the processes.
    """
    check_writable(Path(store))
    names, shares, children = experts_first(names), _shares(jobs), Children()
    ended = {name: threading.Event() for name in names}

    def train_one(name: str) -> bool:
        for expert in _experts(name):
            if expert in ended:
                ended[expert].wait()
        try:
            return _train_in_child(name, children, store, [str(home), store_override(store), *overrides])
        finally:
            ended[name].set()

    with ThreadPoolExecutor(jobs, initializer=lambda: _bind(shares.pop())) as pool:
        try:
            return [name for name, done in zip(names, pool.map(train_one, names), strict=True) if not done]
        except BaseException:
            children.stop()
            pool.shutdown(cancel_futures=True)
            raise


def experts_first(names: Sequence[str]) -> list[str]:
    """Returns names in their order, but each behind the names whose policies it learns from.

    Example:
        >>> experts_first(["fetch_push_sac_robust_0", "cartpole_ppo", "fetch_push_sac_0"])
        ['fetch_push_sac_0', 'fetch_push_sac_robust_0', 'cartpole_ppo']
    """
    ordered: list[str] = []

    def add(name: str) -> None:
        for expert in _experts(name):
            if expert in names and expert not in ordered:
                add(expert)
        if name not in ordered:
            ordered.append(name)

    for name in names:
        add(name)
    return ordered


def _experts(name: str) -> list[str]:
    """Returns the policies of the zoo in a recipe."""
    values = (word.partition("=")[2] for word in recipe(name))
    options = (value.removeprefix("zoo/") for value in values if value.startswith("zoo/"))
    return [policy_name(option) for option in options if option in zoo_options()]


def _train_in_child(name: str, children: Children, store: str, words: Sequence[str]) -> bool:
    if children.stopping.is_set():
        return False
    log = Path(store) / f"{name}.log"
    print(f"{name}: training, see {log}", flush=True)
    code = children.run([sys.executable, "-m", __name__, name, *words], log)
    if code is not None:
        last = (log.read_text().strip().splitlines() or [""])[-1]
        print(f"{name}: {'done' if code == 0 else f'failed: {last}'}", flush=True)
    return code == 0


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


def _main() -> None:
    """Trains in the process that `train_side_by_side` starts."""
    end_with_parent()
    try:
        train_recipe(sys.argv[1], sys.argv[3:], Path(sys.argv[2]))
    except UserError as error:
        sys.exit(f"brittlestar: {error}")
    except Interrupted as stop:
        text = str(stop) or "interrupted"
        sys.stderr.write(f"brittlestar: {text}; the same command continues from the last checkpoint\n")
        sys.exit(128 + stop.number)


if __name__ == "__main__":
    _main()
