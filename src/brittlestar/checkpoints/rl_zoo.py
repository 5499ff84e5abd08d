"""Reads a folder of rl-zoo: the agent, its environment, normalisation, wrappers and scores."""

import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from brittlestar.checkpoints.file_names import ARGUMENTS, BEST_MODEL, HUB_STATISTICS, SCORES, SETTINGS, STATISTICS
from brittlestar.checkpoints.files import existing
from brittlestar.checkpoints.hub import local
from brittlestar.checkpoints.messages import printable, unreadable
from brittlestar.checkpoints.safe_yaml import read_expression, read_yaml
from brittlestar.checkpoints.zip_entries import ZipEntries
from brittlestar.config import HUB
from brittlestar.errors import UserError, nearest

MAX_SCORES_BYTES = 64 << 20

_NPY_HEADER = re.compile(
    rb"\{'descr': '([<>|](?:f[248]|[iu][1248]))', 'fortran_order': (True|False), "
    rb"'shape': \(((?:[0-9]{1,9}, ?){0,7}(?:[0-9]{1,9})?)\), \}\s*"
)


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
    recorded: np.ndarray | None
    """Returns of the episodes in the last evaluation."""


def read_folder(path: str | Path) -> ZooFolder:
    """Reads a folder of rl-zoo; refuses one whose agent needs statistics that are missing."""
    folder = existing(path, "folder")
    checkpoint = _from_hub(str(path)) if str(path).startswith(HUB) else _checkpoint(folder)
    settings = folder / checkpoint.stem if (folder / checkpoint.stem).is_dir() else folder
    args, config = (read_yaml(settings / name) for name in (ARGUMENTS, SETTINGS))
    statistics, where = find_statistics(checkpoint), str(settings / SETTINGS)
    kwargs = _normalize(config.get("normalize"), where)
    normalized = kwargs is not None if (settings / SETTINGS).is_file() else statistics is not None
    if normalized and statistics is None and (kwargs or {}).get("norm_obs", True):
        raise UserError(f"the agent of {folder} was trained with VecNormalize, but {settings / STATISTICS} is missing")
    return ZooFolder(
        path=str(folder),
        algorithm=_text(args.get("algo"), folder.parent.name),
        env_id=_text(args.get("env"), re.sub(r"_[0-9]+$", "", folder.name)),
        checkpoint=str(checkpoint),
        statistics=statistics,
        normalized=normalized,
        normalize_kwargs=kwargs or {},
        wrappers=_wrappers(config.get("env_wrapper"), where),
        frame_stack=_frame_stack(config.get("frame_stack"), where),
        recorded=read_scores(folder / SCORES),
    )


def find_statistics(checkpoint: str | Path) -> str | None:
    """Returns the VecNormalize file of a zip, from the folder of its name or from that of the zip."""
    zipped = local(checkpoint).absolute()
    files = (zipped.with_suffix("") / STATISTICS, zipped.parent / STATISTICS, zipped.parent / HUB_STATISTICS)
    return next((str(file) for file in files if file.is_file()), None)


def read_scores(path: Path) -> np.ndarray | None:
    """Returns the episodes' returns of the last evaluation in `evaluations.npz`, or None without such a file."""
    if not path.is_file():
        return None
    try:
        with path.open("rb") as file:
            entries = ZipEntries(file, str(path))
            content = entries.read("results.npy", MAX_SCORES_BYTES)
    except OSError as error:
        raise unreadable(str(path), error.strerror or error) from None
    results = _read_npy(content, entries.place("results.npy"))
    if results.ndim < 2 or not results.size:
        raise unreadable(entries.place("results.npy"), f"shape {results.shape} is not (evaluations, episodes)")
    return np.asarray(results[-1].ravel(), dtype=np.float64)


def _read_npy(content: bytes, where: str) -> np.ndarray:
    """Reads a file of `numpy.save`; numpy itself would allocate any size that the header states."""
    size = {b"\x93NUMPY\1\0": 2, b"\x93NUMPY\2\0": 4}.get(content[:8], 0)
    start = 8 + size + int.from_bytes(content[8 : 8 + size], "little")
    header = _NPY_HEADER.fullmatch(content[8 + size : min(start, 1000)])
    if not size or header is None:
        raise unreadable(where, "it is not a plain array of numbers")
    dtype, shape = np.dtype(header[1].decode()), tuple(int(word) for word in header[3].split(b",") if word.strip())
    numbers = content[start:]
    if math.prod(shape) * dtype.itemsize != len(numbers):
        raise unreadable(where, f"it is not a plain array: {len(numbers)} bytes for {printable(shape, 60)} {dtype}")
    return np.frombuffer(numbers, dtype).reshape(shape, order="C" if header[2] == b"False" else "F")


def _from_hub(path: str) -> Path:
    zipped = local(path)
    if not zipped.with_name(ARGUMENTS).is_file():
        raise UserError(f"{path} has no {ARGUMENTS}, so it is not from rl-zoo: take `policy=sb3`")
    return zipped


def _checkpoint(folder: Path) -> Path:
    zips = {file.name: file for file in sorted(folder.glob("*.zip"))}
    name = f"{re.sub(r'_[0-9]+$', '', folder.name)}.zip"
    for candidate in (name, BEST_MODEL):
        if candidate in zips:
            return zips[candidate]
    if len(zips) == 1:
        return next(iter(zips.values()))
    several = f"none of its {len(zips)} zips is {name}; {printable(nearest(name, zips), 300)}"
    raise UserError(f"{folder} is not a folder of rl-zoo: {several if zips else 'it has no zip'}")


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
