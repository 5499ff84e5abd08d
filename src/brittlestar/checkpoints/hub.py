"""Downloads agents from the Hugging Face hub (`hub:owner/repo`) into the hub's cache."""

import functools
import multiprocessing
from pathlib import Path
from typing import Any

from brittlestar.checkpoints.file_names import COMPANIONS
from brittlestar.checkpoints.messages import printable
from brittlestar.config import HUB
from brittlestar.errors import UserError, nearest


def local(path: str | Path) -> Path:
    """Returns the local path of a file; downloads it first if it is on the hub.

    Example:
        >>> local("agents/CartPole-v1.zip").name
        'CartPole-v1.zip'
    """
    return fetch(str(path))[0] if str(path).startswith(HUB) else Path(path).expanduser()


def fetch(path: str) -> list[Path]:
    """Downloads `hub:owner/repo` or `hub:owner/repo/file`; returns that file, then the files that belong to it."""
    files, reason = _fetch(path)
    if not files:
        raise UserError(f"{path} cannot be downloaded from the hub: {printable(reason, 300)}")
    return files


def split_hub_id(path: str) -> tuple[str, str]:
    """Returns repository and file of an id; by default the zip with the name of the repository.

    Example:
        >>> split_hub_id("hub:sb3/ppo-CartPole-v1")
        ('sb3/ppo-CartPole-v1', 'ppo-CartPole-v1.zip')
        >>> split_hub_id("hub:me/agents/best/model.zip")
        ('me/agents', 'best/model.zip')
    """
    owner, repository, file = [*path.removeprefix(HUB).split("/", 2), "", ""][:3]
    if not owner or not repository or ".." in file.split("/"):
        raise UserError(f"`{printable(path)}` is not a hub id: write `hub:owner/repo` or `hub:owner/repo/file.zip`")
    return f"{owner}/{repository}", file or f"{repository}.zip"


# The cache also holds failures, so that the other cells of a sweep do not try again.
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
        # The hub's library, its HTTP library and the system each raise their own errors.
        return [], _reason(error)
    return [folder / name for name in names if (folder / name).is_file()], ""


def _snapshot(hub: Any, repository: str, names: list[str]) -> Path:
    """Downloads files of one revision; a worker uses the files that its parent process downloaded."""
    if multiprocessing.parent_process() is not None:
        try:
            folder = Path(hub.snapshot_download(repository, allow_patterns=names, local_files_only=True))
            if (folder / names[0]).is_file():
                return folder
        except FileNotFoundError:
            pass
    return Path(hub.snapshot_download(repository, allow_patterns=names))


def _reason(error: Exception) -> str:
    if type(error).__name__ == "RepositoryNotFoundError":
        return "there is no such repository, or it is not public"
    while error.__cause__ is not None and isinstance(error.__cause__, Exception):
        error = error.__cause__
    return f"{type(error).__name__}: {error}"
