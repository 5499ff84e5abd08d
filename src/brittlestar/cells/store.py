"""Cells on disk: one folder per cell, rows first, manifest last, each by an atomic rename."""

from __future__ import annotations

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
BEHAVIOUR, TRAJECTORIES = "behaviour.npy", "trajectories.npz"


def store_folder(store: str, cell_hash: str) -> Path:
    """Returns where a finished cell lies in the store."""
    return Path(store) / cell_hash[:2] / cell_hash


def read_manifest(folder: Path) -> dict[str, Any] | None:
    """Returns the manifest of a folder, or None where there is no complete one."""
    try:
        return json.loads((folder / MANIFEST).read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (json.JSONDecodeError, UnicodeDecodeError):
        # A manifest appears by rename after fsync, so this one was damaged afterwards: compute it again.
        return None


def read_rows(folder: Path, name: str = ROWS) -> np.ndarray:
    """Returns the episode rows of a finished cell, `(episodes, columns)`, or another table of it."""
    try:
        return np.load(folder / name, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise UserError(f"{folder / name} cannot be read ({error}); remove {folder} and run again") from None


def write_cell(folder: Path, manifest: dict[str, Any], rows: np.ndarray, more: Mapping[str, Any] | None = None) -> None:
    """Writes a finished cell; the manifest comes last, so a folder with one is complete.

    Args:
        folder: where to.
        manifest: what the cell is.
        rows: one per episode.
        more: further files, each an array, or a dict of arrays for one that ends in `.npz`.
    """
    make_folder(folder)
    for name, content in {ROWS: rows, **(more or {})}.items():
        write_file(folder / name, functools.partial(_save, content), durable=True)
    write_manifest(folder, manifest, durable=True)


def _save(content: Any, file: Any) -> None:
    if isinstance(content, dict):
        np.savez_compressed(file, **content)
    else:
        np.save(file, content, allow_pickle=False)


def write_manifest(folder: Path, manifest: dict[str, Any], durable: bool = False) -> None:
    """Writes a manifest by rename, after fsync where it must survive a power cut."""
    make_folder(folder)
    write_file(folder / MANIFEST, json.dumps(manifest, allow_nan=True), durable)


def link_rows(source: Path, target: Path, names: Iterable[str] = (ROWS,)) -> None:
    """Shows files of a stored cell in another folder: hard links, or copies across file systems."""
    make_folder(target)
    for name in names:
        temporary = target / f".{name}.{os.getpid()}"
        temporary.unlink(missing_ok=True)
        try:
            os.link(source / name, temporary)
        except OSError:
            shutil.copyfile(source / name, temporary)
        # Renaming one hard link onto another of the same file does nothing and leaves both: so remove first.
        (target / name).unlink(missing_ok=True)
        temporary.rename(target / name)


def find_cells(folder: Path) -> list[Path]:
    """Returns the folders below `folder` that hold a manifest, in a fixed order."""
    found = [Path(root) for root, _, files in os.walk(folder) if MANIFEST in files]
    return sorted(found, key=lambda path: [(len(part), part) for part in path.relative_to(folder).parts])


def forget_cells(folder: Path) -> None:
    """Removes what an earlier sweep shows in this folder; the store keeps the cells themselves."""
    for cell in find_cells(folder):
        (cell / MANIFEST).unlink(missing_ok=True)
