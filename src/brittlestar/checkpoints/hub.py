"""`hub:owner/repo`: an agent on the Hugging Face hub, downloaded to the hub's own cache and then read like any file."""

from __future__ import annotations

import functools
import multiprocessing
from pathlib import Path
from typing import Any

from brittlestar.checkpoints.file_names import COMPANIONS
from brittlestar.checkpoints.messages import printable
from brittlestar.config import HUB
from brittlestar.errors import UserError, nearest


def local(path: str | Path) -> Path:
    """Returns where a file is on this machine; one of the hub is downloaded first.

    Example:
        >>> local("agents/CartPole-v1.zip").name
        'CartPole-v1.zip'
    """
    return fetch(str(path))[0] if str(path).startswith(HUB) else Path(path).expanduser()


def fetch(path: str) -> list[Path]:
    """Downloads what `hub:owner/repo` or `hub:owner/repo/file` names: that file, then those that belong to it."""
    files, reason = _fetch(path)
    if not files:
        raise UserError(f"{path} cannot be had from the hub: {printable(reason, 300)}")
    return files


def split_hub_id(path: str) -> tuple[str, str]:
    """Returns repository and file of an id; an agent's zip has the name of its repository.

    Example:
        >>> split_hub_id("hub:sb3/ppo-CartPole-v1")
        ('sb3/ppo-CartPole-v1', 'ppo-CartPole-v1.zip')
        >>> split_hub_id("hub:me/agents/best/model.zip")
        ('me/agents', 'best/model.zip')
    """
    owner, _, rest = path.removeprefix(HUB).partition("/")
    repository, _, file = rest.partition("/")
    if not owner or not repository or ".." in file.split("/"):
        raise UserError(f"`{printable(path)}` is no id of the hub: write `hub:owner/repo` or `hub:owner/repo/file.zip`")
    return f"{owner}/{repository}", file or f"{repository}.zip"


# A failure is kept, too: the other cells of a sweep need not ask again.
@functools.cache
def _fetch(path: str) -> tuple[list[Path], str]:
    repository, file = split_hub_id(path)
    try:
        import huggingface_hub
        from huggingface_hub.utils import disable_progress_bars, logging
    except ImportError:
        return [], "huggingface_hub is not installed, `pip install brittlestar[hub]`"
    disable_progress_bars()
    logging.set_verbosity_error()
    names = [file, *(str(Path(file).with_name(name)) for name in COMPANIONS)]
    try:
        folder = _snapshot(huggingface_hub, repository, names)
        if not (folder / file).is_file():
            return [], f"there is no {file} in it; {nearest(file, huggingface_hub.list_repo_files(repository))}"
    except Exception as error:
        # Its library, that of its requests and the system each have their own errors.
        return [], _reason(error)
    return [folder / name for name in names if (folder / name).is_file()], ""


def _snapshot(hub: Any, repository: str, names: list[str]) -> Path:
    """Downloads files of one revision; a worker takes what the process that started it has just fetched."""
    if multiprocessing.parent_process() is not None:
        try:
            found = Path(hub.snapshot_download(repository, allow_patterns=names, local_files_only=True))
            if (found / names[0]).is_file():
                return found
        except FileNotFoundError:
            pass
    return Path(hub.snapshot_download(repository, allow_patterns=names))


def _reason(error: Exception) -> str:
    kind = type(error).__name__
    if kind == "RepositoryNotFoundError":
        return "there is no such repository, or it is not public"
    while error.__cause__ is not None and isinstance(error.__cause__, Exception):
        error = error.__cause__
    return f"{type(error).__name__}: {error}"
