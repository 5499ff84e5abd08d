"""A replay buffer on disk: only the rows that were filled, as arrays.

This module alone reads a private attribute of Stable-Baselines3. With a version that it was not tested with, buffers of
hindsight replay are pickled whole by the library's own functions.
"""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import stable_baselines3
from stable_baselines3 import HerReplayBuffer
from stable_baselines3.common.buffers import DictReplayBuffer, ReplayBuffer

from brittlestar.errors import UserError
from brittlestar.training.goal_replay import GoalReplay

FIRST_UNTESTED = (2, 10)
"""The upper bound of Stable-Baselines3 in `pyproject.toml`."""
_FILE, _PICKLE = "replay.npz", "replay.pkl"
_STARTS = "_current_ep_start"
"""Array of `HerReplayBuffer`: the row where the running episode of each environment starts."""
_COUNTS = "counts"


def save_replay(model: Any, folder: Path) -> None:
    """Writes the replay buffer of a model, if it has one; a buffer of another class or with dicts is pickled whole."""
    buffer = getattr(model, "replay_buffer", None)
    if buffer is None:
        return
    if not _is_plain(buffer):
        model.save_replay_buffer(folder / _PICKLE)
        return
    # A buffer that saves memory keeps the next observation in the row after the last one.
    rows = min(buffer.size() + 1, buffer.buffer_size)
    arrays = {name: array[:rows] for name, array in _columns(buffer).items()}
    if hasattr(buffer, _STARTS):
        arrays[_STARTS] = getattr(buffer, _STARTS)
    arrays[_COUNTS] = np.array([buffer.pos, buffer.full])
    np.savez(folder / _FILE, allow_pickle=False, **arrays)


def load_replay(model: Any, folder: Path) -> None:
    """Fills the empty buffer of a model; episodes that had not ended are truncated there."""
    with warnings.catch_warnings():
        # The library warns about truncated episodes, but the environments start again.
        warnings.simplefilter("ignore", UserWarning)
        if (folder / _PICKLE).is_file():
            model.load_replay_buffer(folder / _PICKLE)
        elif (folder / _FILE).is_file():
            _fill(model.replay_buffer, folder / _FILE)


def _fill(buffer: Any, path: Path) -> None:
    if not _is_plain(buffer):
        bound = ".".join(map(str, FIRST_UNTESTED))
        raise UserError(f"{path} was written with another stable-baselines3; install one below {bound} to continue")
    with np.load(path) as file:
        for name, array in _columns(buffer).items():
            rows = file[name]
            array[: len(rows)] = rows
        if _STARTS in file:
            getattr(buffer, _STARTS)[:] = file[_STARTS]
        pos, full = file[_COUNTS].tolist()
    buffer.pos, buffer.full = int(pos), bool(full)
    if hasattr(buffer, "truncate_last_trajectory"):
        buffer.truncate_last_trajectory()


def _is_plain(buffer: Any) -> bool:
    """Returns whether the arrays of a buffer are all that it holds."""
    if type(buffer) in (HerReplayBuffer, GoalReplay):
        version = tuple(map(int, stable_baselines3.__version__.split(".")[:2]))
        return version < FIRST_UNTESTED and not buffer.copy_info_dict
    return type(buffer) in (ReplayBuffer, DictReplayBuffer)


def _columns(buffer: Any) -> dict[str, np.ndarray]:
    """Returns the arrays that have a row for each step."""
    columns = {}
    for name, value in vars(buffer).items():
        parts = {f"{name}/{key}": part for key, part in value.items()} if isinstance(value, dict) else {name: value}
        for key, array in parts.items():
            # The dicts of hindsight replay are empty without `copy_info_dict`.
            if isinstance(array, np.ndarray) and name not in (_STARTS, "infos"):
                columns[key] = array
    return columns
