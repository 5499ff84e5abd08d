"""Cells on disk: one folder per cell, its rows first and its manifest last, each by an atomic rename."""

import functools
import json
import os
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from brittlestar.cells.files import make_folder, write_file
from brittlestar.errors import UserError

ROWS, MANIFEST = "episodes.npy", "manifest.json"
BEHAVIOUR, TRAJECTORIES, REWARDS = "behaviour.npy", "trajectories.npz", "rewards.npy"
_REPLACEABLE = (REWARDS,)
"""Files that only a picture needs: not worth the milliseconds in which a file becomes safe from a power cut."""


def store_folder(store: str, cell_hash: str) -> Path:
    """Returns the folder of a finished cell in the store."""
    return Path(store) / cell_hash[:2] / cell_hash


def read_manifest(folder: Path) -> dict[str, Any] | None:
    """Returns the manifest of a folder; None without a complete one."""
    try:
        return json.loads((folder / MANIFEST).read_bytes())
    except (FileNotFoundError, NotADirectoryError, json.JSONDecodeError, UnicodeDecodeError):
        # A manifest appears by rename after fsync. One without JSON was damaged later: its cell is computed again.
        return None


def read_rows(folder: Path, name: str = ROWS) -> np.ndarray:
    """Returns the episode rows of a finished cell, `(episodes, columns)`, or another table of it."""
    try:
        return np.load(folder / name, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise UserError(f"{folder / name} cannot be read ({error}); remove {folder} and run again") from None


def write_cell(folder: Path, manifest: dict[str, Any], files: Mapping[str, Any]) -> None:
    """Writes a finished cell: arrays by file name, or dicts of arrays for `.npz`, and the manifest last."""
    make_folder(folder)
    for name, content in files.items():
        write_file(folder / name, functools.partial(_save, content), durable=name not in _REPLACEABLE)
    write_manifest(folder, manifest, durable=True)


def _save(content: Any, file: Any) -> None:
    if isinstance(content, dict):
        np.savez_compressed(file, **content)
    else:
        np.save(file, content, allow_pickle=False)


def write_manifest(folder: Path, manifest: dict[str, Any], durable: bool = False) -> None:
    """Writes a manifest; `durable` ones survive a power cut."""
    make_folder(folder)
    write_file(folder / MANIFEST, json.dumps(manifest, allow_nan=True), durable)


def link_rows(source: Path, target: Path, names: Iterable[str] = (ROWS,)) -> None:
    """Puts files of a stored cell into another folder: hard links, or copies across file systems."""
    make_folder(target)
    for name in names:
        temporary = target / f".{name}.{os.getpid()}"
        temporary.unlink(missing_ok=True)
        try:
            os.link(source / name, temporary)
        except OSError:
            shutil.copyfile(source / name, temporary)
        # A rename of one hard link onto another of the same file does nothing.
        (target / name).unlink(missing_ok=True)
        temporary.rename(target / name)


def find_cells(folder: Path) -> list[Path]:
    """Returns the folders below `folder` that hold a manifest, in a fixed order."""
    cells = [Path(root) for root, _, files in os.walk(folder) if MANIFEST in files]
    return sorted(cells, key=lambda path: [(len(part), part) for part in path.relative_to(folder).parts])


def forget_cells(folder: Path) -> None:
    """Removes the manifests of an earlier sweep from its folder; the store keeps the cells."""
    for cell in find_cells(folder):
        (cell / MANIFEST).unlink(missing_ok=True)
