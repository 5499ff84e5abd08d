"""Recorded episodes: one `.npz` file without pickled objects, written as the episodes end."""

import contextlib
import json
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from gymnasium import spaces

from brittlestar.cells.files import make_folder, write_file
from brittlestar.checkpoints.messages import STAND_IN_BYTES, TRUNCATED, stand_in
from brittlestar.checkpoints.zip_entries import ZIP_START
from brittlestar.envs.batches import entries
from brittlestar.errors import UserError

OBSERVATIONS = "observations"
_ENDS = {"terminals": "timeouts", "terminations": "truncations", "terminated": "truncated"}
"""Other names of the flags at the end of an episode: of true ends, and of time limits."""


@dataclass
class RecordedEpisode:
    """One recorded episode; every array starts with the steps."""

    observations: Any
    """What the policy saw: an array, or a dict of arrays."""
    actions: np.ndarray
    rewards: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.actions)


@dataclass
class Recording:
    """Recorded episodes, and what is known about them.

    Attributes:
        episodes: in order.
        name: of the file or data set.
        env: id of the environment.
        max_steps: time limit, if it is not the registered one.
        seed: of `record_policy`, which makes these start states again.
        own_spaces: of observations and actions, if the data set contains them.
    """

    episodes: list[RecordedEpisode]
    name: str = "the recording"
    env: str | None = None
    max_steps: int | None = None
    seed: int | None = None
    own_spaces: tuple[spaces.Space, spaces.Space] | None = None

    def first(self, count: int) -> "Recording":
        """Returns the recording with at most `count` episodes."""
        return Recording(self.episodes[:count], self.name, self.env, self.max_steps, self.seed, self.own_spaces)


@dataclass
class RecordingWriter:
    """Appends episodes to arrays on disk, and makes one file of them at the end of a `with` block.

    A block that fails, or a kill, leaves no file.
    """

    path: Path
    facts: dict[str, Any]
    _lengths: list[int] = field(default_factory=list)
    _arrays: dict[str, tuple[np.dtype, tuple[int, ...], BinaryIO]] = field(default_factory=dict)

    def add(self, episode: RecordedEpisode) -> None:
        """Appends the observations and actions of an episode."""
        self._lengths.append(len(episode))
        for key, array in entries(episode.observations).items():
            self.append(f"{OBSERVATIONS}/{key}" if key else OBSERVATIONS, array)
        self.append("actions", episode.actions)

    def append(self, name: str, array: np.ndarray) -> None:
        """Appends steps to one of the arrays."""
        if name not in self._arrays:
            file = open(Path(self._folder) / f"{len(self._arrays)}", "w+b")  # noqa: SIM115
            self._arrays[name] = array.dtype, array.shape[1:], self._stack.enter_context(file)
        self._arrays[name][2].write(np.ascontiguousarray(array).tobytes())

    def __enter__(self) -> "RecordingWriter":
        make_folder(self.path.parent)
        self._stack = contextlib.ExitStack()
        self._folder = self._stack.enter_context(tempfile.TemporaryDirectory(dir=self.path.parent, prefix=".recording"))
        return self

    def __exit__(self, kind: Any, *exception: object) -> None:
        with self._stack:
            if kind is None:
                write_file(self.path, self._pack)

    def _pack(self, file: BinaryIO) -> None:
        steps = sum(self._lengths)
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            for name, (dtype, shape, rows) in self._arrays.items():
                rows.seek(0)
                header = {
                    "descr": np.lib.format.dtype_to_descr(dtype),
                    "fortran_order": False,
                    "shape": (steps, *shape),
                }
                # A fixed date: the same episodes give the same bytes.
                with archive.open(_entry(name), "w", force_zip64=True) as entry:
                    np.lib.format.write_array_header_1_0(entry, header)
                    shutil.copyfileobj(rows, entry)
            for name, array in {
                "episode_ends": np.cumsum(self._lengths),
                "facts": np.array(json.dumps(self.facts)),
            }.items():
                with archive.open(_entry(name), "w") as entry:
                    np.lib.format.write_array(entry, array, allow_pickle=False)


def _entry(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(f"{name}.npy")
    info.compress_type = zipfile.ZIP_DEFLATED
    return info


def read_npz(path: Path) -> Recording:
    """Reads a file of `RecordingWriter`, or one with the same arrays; never runs code from it.

    It needs `observations` (or `observations/KEY`) and `actions`, and either `episode_ends`, the number of steps until
    the end of each episode, or flags such as `terminals` and `timeouts`.
    """
    try:
        with open(path, "rb") as stream:
            if reason := stand_in(stream.read(STAND_IN_BYTES)):
                raise ValueError(reason)
            stream.seek(0)
            if stream.read(len(ZIP_START)) == ZIP_START and not zipfile.is_zipfile(stream):
                raise ValueError(TRUNCATED)
            stream.seek(0)
            file = np.load(stream, allow_pickle=False)
            if not isinstance(file, np.lib.npyio.NpzFile):
                raise ValueError("it is a single array")
            arrays = {name: file[name] for name in file.files}
    except (OSError, ValueError, zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise UserError(f"{path} is no .npz of plain arrays: {' '.join(str(error).split())}") from None
    parts = {name.removeprefix(OBSERVATIONS).lstrip("/"): arrays[name] for name in arrays if _is_observed(name)}
    for name in ("observations", "actions"):
        if name not in arrays and not (name == OBSERVATIONS and parts):
            raise UserError(f"{path} has no array `{name}`, only {', '.join(sorted(arrays))}")
    actions, rewards = arrays["actions"], arrays.get("rewards")
    for name, array in {**parts, "actions": actions, "rewards": rewards}.items():
        if array is not None and (not array.ndim or len(array) != len(actions)):
            raise UserError(f"{path}: `{name or OBSERVATIONS}` must have {len(actions)} steps, got {array.shape}")
    facts = _facts(path, arrays.get("facts"))
    episodes = []
    for steps in _slices(path, arrays, len(actions)):
        seen = {key: part[steps] for key, part in parts.items()}
        rewarded = None if rewards is None else rewards[steps]
        episodes.append(RecordedEpisode(seen.get("", seen), actions[steps], rewarded))
    known = {key: facts[key] for key, kind in _FACTS.items() if isinstance(facts.get(key), kind)}
    return Recording(episodes, str(path), **known)


_FACTS: dict[str, type] = {"env": str, "max_steps": int, "seed": int}


def _is_observed(name: str) -> bool:
    return name == OBSERVATIONS or name.startswith(f"{OBSERVATIONS}/")


def _facts(path: Path, array: np.ndarray | None) -> dict[str, Any]:
    if array is None:
        return {}
    try:
        facts = json.loads(str(array))
    except ValueError:
        facts = None
    if not isinstance(facts, dict):
        raise UserError(f"{path}: `facts` is no JSON object")
    return facts


def _slices(path: Path, arrays: dict[str, np.ndarray], steps: int) -> Iterator[slice]:
    ends = arrays.get("episode_ends")
    if ends is None:
        true_ends = next((name for name in _ENDS if name in arrays), None)
        if true_ends is None:
            raise UserError(f"{path} has no array `episode_ends`, only {', '.join(sorted(arrays))}")
        flags = arrays[true_ends].astype(bool).ravel()
        if _ENDS[true_ends] in arrays:
            flags = flags | arrays[_ENDS[true_ends]].astype(bool).ravel()
        # Steps behind the last flag are an episode that was cut off.
        ends = np.union1d(np.flatnonzero(flags) + 1, [len(flags)])
    bounds = np.concatenate([[0], ends.ravel()])
    if ends.dtype.kind not in "iu" or (np.diff(bounds) <= 0).any() or bounds[-1] != steps or not steps:
        raise UserError(f"{path}: `episode_ends` must rise to the number of steps, {steps}, got {bounds[1:][-3:]}")
    return (slice(start, stop) for start, stop in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True))
