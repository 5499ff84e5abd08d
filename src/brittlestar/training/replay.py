"""A replay buffer on disk: only the rows that were filled, and none of its objects."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np

_FILE, _PICKLE = "replay.npz", "replay.pkl"
_RUNNING = "_current_ep_start"
_COUNTS = "counts"


def save_replay(model: Any, folder: Path) -> None:
    """Writes the buffer of a model, if it has one.

    A buffer of a class that is not known here, or one that keeps dicts, is pickled whole.

    Args:
        model: an off-policy model of Stable-Baselines3, or any other.
        folder: where to.
    """
    buffer = getattr(model, "replay_buffer", None)
    if buffer is None:
        return
    if not _known(buffer):
        model.save_replay_buffer(folder / _PICKLE)
        return
    # One more than were filled: a thrifty buffer keeps the next observation in the next row.
    rows = min(buffer.size() + 1, buffer.buffer_size)
    arrays = {name: array[:rows] for name, array in _columns(buffer).items()}
    if hasattr(buffer, _RUNNING):
        arrays[_RUNNING] = getattr(buffer, _RUNNING)
    arrays[_COUNTS] = np.array([buffer.pos, buffer.full])
    np.savez(folder / _FILE, allow_pickle=False, **arrays)


def load_replay(model: Any, folder: Path) -> None:
    """Fills the empty buffer of a model with what was written; episodes that had not ended are cut there."""
    with warnings.catch_warnings():
        # That episodes are cut is no news: the environments start anew.
        warnings.simplefilter("ignore", UserWarning)
        if (folder / _PICKLE).is_file():
            model.load_replay_buffer(folder / _PICKLE)
        elif (folder / _FILE).is_file():
            _fill(model.replay_buffer, folder / _FILE)


def _fill(buffer: Any, path: Path) -> None:
    with np.load(path) as file:
        for name, array in _columns(buffer).items():
            kept = file[name]
            array[: len(kept)] = kept
        if _RUNNING in file:
            getattr(buffer, _RUNNING)[:] = file[_RUNNING]
        pos, full = file[_COUNTS].tolist()
    buffer.pos, buffer.full = int(pos), bool(full)
    if hasattr(buffer, "truncate_last_trajectory"):
        buffer.truncate_last_trajectory()


def _known(buffer: Any) -> bool:
    from stable_baselines3 import HerReplayBuffer
    from stable_baselines3.common.buffers import DictReplayBuffer, ReplayBuffer

    return type(buffer) in (ReplayBuffer, DictReplayBuffer, HerReplayBuffer) and not getattr(
        buffer, "copy_info_dict", False
    )


def _columns(buffer: Any) -> dict[str, np.ndarray]:
    """Returns the arrays that have a row for each step."""
    found = {}
    for name, value in vars(buffer).items():
        parts = {f"{name}/{key}": part for key, part in value.items()} if isinstance(value, dict) else {name: value}
        for key, array in parts.items():
            # The dicts of hindsight replay are empty unless somebody asks for them.
            if isinstance(array, np.ndarray) and name not in (_RUNNING, "infos"):
                found[key] = array
    return found
