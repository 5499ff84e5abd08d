"""Which environment the files and folders of an agent name, and its arguments."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from brittlestar.checkpoints.file_names import ARGUMENTS, ENV_ARGUMENTS, SETTINGS
from brittlestar.checkpoints.hub import local
from brittlestar.checkpoints.messages import printable, unreadable
from brittlestar.checkpoints.safe_yaml import read_yaml
from brittlestar.config import HUB
from brittlestar.config.build import targets_in

_FOLDERS = 3
"""How many folders above a file may name its environment."""
_NAME = re.compile(r"(?:[a-z0-9_]+[-_](?=[A-Z]))?([\w.:/-]+?-v\d+)(?:[_-].*)?")
"""An id, behind an algorithm (`ppo-CartPole-v1`) or before the number of a run (`CartPole-v1_1`)."""


def env_names(path: str) -> list[str]:
    """Returns the ids that a file or folder of an agent may name, the most likely first.

    These are the id in the settings of rl-zoo, then those in the names of the file and of the folders above it.

    Example:
        >>> env_names("agents/Hopper-v3/SAC/model.zip"), env_names("logs/ppo/CartPole-v1_1/best_model.zip")
        (['Hopper-v3'], ['CartPole-v1'])
    """
    named = list(_named(path))
    # The name of a repository of the hub is enough, and its files need a download.
    stated = [] if named and path.startswith(HUB) else _stated(path)
    return list(dict.fromkeys([*stated, *named]))


def env_arguments(path: str) -> dict[str, Any]:
    """Returns the arguments of the environment in rl-zoo's settings of an agent, without those of rendering."""
    settings = _settings_of(path)
    stated = [read_yaml(settings / name).get("env_kwargs") for name in (ARGUMENTS, SETTINGS)]
    found = next((kwargs for kwargs in (read_yaml(settings / ENV_ARGUMENTS), *stated) if kwargs), {})
    kwargs = dict(found) if isinstance(found, dict) else {}
    for target in targets_in(kwargs):
        raise unreadable(str(settings), f"an argument of its environment names code to run: {printable(target, 80)}")
    return {str(key): value for key, value in kwargs.items() if key != "render_mode"}


def settings_folder(checkpoint: Path) -> Path:
    """Returns the folder with rl-zoo's settings of a zip: that of its name, that of its environment, or its own."""
    home = checkpoint.parent
    folders = (home / checkpoint.stem, home / run_name(home), home)
    return next((place for place in folders if any((place / name).is_file() for name in (ARGUMENTS, SETTINGS))), home)


def run_name(folder: Path) -> str:
    """Returns the name of a folder without the number of the run.

    Example:
        >>> run_name(Path("ppo/CartPole-v1_1"))
        'CartPole-v1'
    """
    return re.sub(r"_[0-9]+$", "", folder.name)


def _stated(path: str) -> list[str]:
    env_id = read_yaml(_settings_of(path) / ARGUMENTS).get("env")
    return [env_id] if isinstance(env_id, str) and env_id else []


def _settings_of(path: str) -> Path:
    place = local(path).absolute()
    return settings_folder(place / "policy.zip" if place.is_dir() else place)


def _named(path: str) -> Iterator[str]:
    # The folders of the hub's cache name nothing.
    on_hub = path.startswith(HUB)
    place = Path(path.removeprefix(HUB)) if on_hub else Path(path).expanduser().absolute()
    names = [place.name if place.is_dir() else place.stem, *(folder.name for folder in list(place.parents)[:_FOLDERS])]
    for name in names:
        if match := _NAME.fullmatch(name):
            yield re.sub(r"^ALE-", "ALE/", match[1])
