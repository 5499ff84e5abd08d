"""Reads a folder of rl-zoo: the agent, its environment, normalisation, wrappers and scores."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from brittlestar.checkpoints.algorithms import ALGORITHMS, ALIASES
from brittlestar.checkpoints.env_names import env_names, run_name, settings_folder
from brittlestar.checkpoints.file_names import ARGUMENTS, BEST_MODEL, HUB_STATISTICS, SCORES, SETTINGS, STATISTICS
from brittlestar.checkpoints.files import existing
from brittlestar.checkpoints.hub import local
from brittlestar.checkpoints.messages import printable, unreadable
from brittlestar.checkpoints.safe_yaml import read_expression, read_yaml
from brittlestar.checkpoints.scores import Scores, read_scores
from brittlestar.config import HUB
from brittlestar.errors import UserError, nearest

_STEPS = re.compile(r"(.*_)(\d+)_steps")


@dataclass(frozen=True)
class ZooFolder:
    """The content of a folder `<algorithm>/<env>_<n>` of rl-zoo."""

    path: str
    algorithm: str
    """Name in rl-zoo, where `her` is an algorithm; the zip names the one inside it."""
    env_id: str
    checkpoint: str
    statistics: str | None
    normalized: bool
    """Whether the agent was trained with `VecNormalize`."""
    normalize_kwargs: dict[str, Any]
    wrappers: dict[str, dict[str, Any]]
    """Arguments of environment wrappers by full name, innermost first."""
    frame_stack: int | None
    recorded: Scores | None
    """Returns of all evaluations in training."""


def read_folder(path: str | Path) -> ZooFolder:
    """Reads a folder of rl-zoo; refuses one whose agent needs statistics that are missing."""
    folder = existing(path, "folder")
    checkpoint = _from_hub(str(path)) if str(path).startswith(HUB) else _checkpoint(folder)
    settings = settings_folder(checkpoint)
    args, config = (read_yaml(settings / name) for name in (ARGUMENTS, SETTINGS))
    statistics, where = find_statistics(checkpoint), str(settings / SETTINGS)
    kwargs = _normalize(config.get("normalize"), where)
    normalized = kwargs is not None if (settings / SETTINGS).is_file() else statistics is not None
    if normalized and statistics is None and (kwargs or {}).get("norm_obs", True):
        raise UserError(f"the agent of {folder} was trained with VecNormalize, but {settings / STATISTICS} is missing")
    return ZooFolder(
        path=str(folder),
        algorithm=_text(args.get("algo"), _algorithm(folder)),
        env_id=_text(args.get("env"), next(iter(env_names(str(path))), run_name(folder))),
        checkpoint=str(checkpoint),
        statistics=statistics,
        normalized=normalized,
        normalize_kwargs=kwargs or {},
        wrappers=_wrappers(config.get("env_wrapper"), where),
        frame_stack=_frame_stack(config.get("frame_stack"), where),
        recorded=read_scores(folder / SCORES),
    )


def find_statistics(checkpoint: str | Path) -> str | None:
    """Returns the VecNormalize file of a zip, see `statistics_files`; None without one."""
    zipped = local(checkpoint).absolute()
    return next((str(file) for file in statistics_files(zipped) if file.is_file()), None)


def statistics_files(zipped: Path) -> list[Path]:
    """Returns where the VecNormalize file of a zip may be, the most likely place first."""
    home, names = zipped.parent, (STATISTICS, HUB_STATISTICS)
    # `CheckpointCallback` writes `rl_model_vecnormalize_500_steps.pkl` beside `rl_model_500_steps.zip`.
    checkpoints = [home / f"{start}vecnormalize_{steps}_steps.pkl" for start, steps in _STEPS.findall(zipped.stem)]
    folders = [zipped.with_suffix(""), home, home / run_name(home)]
    # A file one folder up may belong to another agent of rl-zoo, which writes down whether an agent has one.
    if normalizes(zipped) is None:
        folders.append(home.parent)
    return [*checkpoints, *(folder / name for folder in folders for name in names)]


def normalizes(zipped: Path) -> bool | None:
    """Returns whether rl-zoo's settings of a zip normalise observations; None without such settings."""
    file = settings_folder(zipped) / SETTINGS
    if not file.is_file() or not file.with_name(ARGUMENTS).is_file():
        return None
    try:
        kwargs = _normalize(read_yaml(file).get("normalize"), str(file))
    except UserError:
        # Other programs use this file name too.
        return None
    return kwargs is not None and bool(kwargs.get("norm_obs", True))


def _from_hub(path: str) -> Path:
    zipped = local(path)
    if not zipped.with_name(ARGUMENTS).is_file():
        raise UserError(f"{path} has no {ARGUMENTS}, so it is not from rl-zoo: take `policy=sb3`")
    return zipped


def _checkpoint(folder: Path) -> Path:
    zips = {file.name: file for file in sorted(folder.glob("*.zip"))}
    name = f"{run_name(folder)}.zip"
    for candidate in (name, BEST_MODEL):
        if candidate in zips:
            return zips[candidate]
    if len(zips) == 1:
        return next(iter(zips.values()))
    several = f"none of its {len(zips)} zips is {name}; {printable(nearest(name, zips), 300)}"
    raise UserError(f"{folder} is not a folder of rl-zoo: {several if zips else 'it has no zip'}")


def _algorithm(folder: Path) -> str:
    """Returns the algorithm that a folder or the one above it names."""
    names = folder.name, folder.parent.name
    return next((name.lower() for name in names if name.lower() in (*ALGORITHMS, *ALIASES)), names[1])


def _normalize(value: Any, where: str) -> dict[str, Any] | None:
    """Returns the arguments of VecNormalize; None without it."""
    if isinstance(value, str):
        value = read_expression(value, f"{where}, `normalize`,")
    if value is None or value is False:
        return None
    if value is True:
        return {}
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return value
    raise unreadable(f"{where}, `normalize`,", f"it must be true, false or a dict, got {printable(value, 60)}")


def _wrappers(value: Any, where: str) -> dict[str, dict[str, Any]]:
    """Reads `name`, `{name: arguments}` or a list of these."""
    wrappers: dict[str, dict[str, Any]] = {}
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, str) and item != "None":
            wrappers[printable(item)] = {}
        elif isinstance(item, dict) and all(isinstance(name, str) for name in item):
            wrappers |= {printable(name): kwargs if isinstance(kwargs, dict) else {} for name, kwargs in item.items()}
        elif item not in (None, "None"):
            raise unreadable(f"{where}, `env_wrapper`,", f"it must be names of wrappers, got {printable(item, 60)}")
    return wrappers


def _frame_stack(value: Any, where: str) -> int | None:
    if value is None or (type(value) is int and 1 <= value <= 1000):
        return value
    reason = f"it must be a whole number from 1 to 1000, got {printable(value, 60)}"
    raise unreadable(f"{where}, `frame_stack`,", reason)


def _text(value: Any, otherwise: str) -> str:
    return printable(value) if isinstance(value, str) and value else otherwise
