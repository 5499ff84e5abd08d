"""The folder of a training: its name, its files, and checkpoints that a kill cannot leave half written."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from brittlestar.cells.config_files import contents
from brittlestar.cells.files import previous, write_folder
from brittlestar.envs.ids import plain_env

METADATA = "metadata.json"
"""Facts and scores; a training has them when it is finished."""
RESOLVED_CONFIG = "config.json"
_PROGRESS = "progress.json"
_NOT_IN_NAME = ("threads", "store", "save_every", "episodes")
"""Keys that change how fast a training runs and how it is scored, not what it learns."""


def training_folder(config: dict[str, Any]) -> Path:
    """Returns the folder of a training; its name depends on everything that decides the result."""
    identity = {key: value for key, value in config.items() if key not in _NOT_IN_NAME}
    env = plain_env(config["env"])
    # Trainings from before the key existed keep their names.
    identity["env"] = {key: value for key, value in env.items() if (key, value) != ("module", None)}
    settings = config["algo"].get("by_env", {}).get(env.get("id"))
    identity["algo"] = config["algo"] | {"by_env": settings}
    files = contents(identity["algo"])
    if files:
        identity["files"] = files
    digest = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:8]
    name = str(env.get("id")).replace("/", "_")
    return Path(config["store"]) / f"{name}-{config['algo']['name']}-{config['seed']}-{digest}"


def write_checkpoint(folder: Path, save: Callable[[Path], None], progress: dict[str, Any]) -> None:
    """Replaces a checkpoint by what `save` writes into an empty folder; a reader finds the old or the new one."""

    def fill(fresh: Path) -> None:
        save(fresh)
        (fresh / _PROGRESS).write_text(json.dumps(progress))

    write_folder(folder, fill)


def find_checkpoint(folder: Path) -> tuple[Path, dict[str, Any]] | None:
    """Returns the newest whole checkpoint and its progress; None without one."""
    for place in (folder, previous(folder)):
        if (place / _PROGRESS).is_file():
            return place, json.loads((place / _PROGRESS).read_text())
    return None
