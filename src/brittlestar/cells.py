"""Reads finished cells back: what varied between them, and how they group into curves."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from brittlestar import records
from brittlestar.config import GROUPS
from brittlestar.errors import UserError
from brittlestar.identity import NEUTRAL

ALWAYS = ("env", "policy", "perturbation")
"""Columns that every table shows, so that it can be read without its sweep."""


@dataclass
class Cell:
    """A recorded cell; its rows stay on disk (or in memory, for the Python API) until they are asked for."""

    manifest: dict[str, Any]
    folder: Path | None = None
    held: np.ndarray | None = None

    @property
    def config(self) -> dict[str, Any]:
        """The resolved config that asked for the cell."""
        return self.manifest["config"]

    @property
    def done(self) -> bool:
        """Whether the cell has a result."""
        return self.manifest["status"] == "done"

    @property
    def seed(self) -> int:
        """The cell's seed."""
        return self.config["seed"]

    @property
    def strength(self) -> float:
        """The perturbation's strength: the x axis."""
        return self.manifest.get("strength", {}).get("value") or 0.0

    @property
    def strength_name(self) -> str | None:
        """The name of the strength field."""
        return self.manifest.get("strength", {}).get("name")

    def choice(self, group: str) -> str:
        """Returns the option chosen in a config group, or the class name where there is no Hydra."""
        chosen = self.manifest.get("choices", {}).get(group)
        return chosen or str((self.config.get(group) or {}).get("_target_", "none")).rpartition(".")[2]

    def rows(self) -> np.ndarray:
        """Returns the episode rows, `(episodes, columns)`."""
        if self.held is not None:
            return self.held
        assert self.folder is not None
        return records.read_rows(self.folder)


@dataclass
class Grouping:
    """Which config values tell curves apart, and the label of each cell."""

    columns: list[str]
    labels: list[tuple]

    def label(self, index: int) -> dict[str, Any]:
        """Returns the label of a cell as table columns."""
        return dict(zip(self.columns, self.labels[index], strict=True))


def load_cells(folders: Iterable[str | Path], mixed: bool = False) -> list[Cell]:
    """Reads every complete manifest below the folders; a cell that is there twice counts once.

    Args:
        folders: sweep folders.
        mixed: allow sweeps of different studies in one table.
    """
    found: dict[str, Cell] = {}
    studies: dict[str, str] = {}
    for folder in map(Path, folders):
        cells = _read(folder)
        studies.setdefault(_study(cells), str(folder))
        for cell in cells:
            found.setdefault(_identity(cell), cell)
    if len(studies) > 1 and not mixed:
        told = "; ".join(f"{folder} is {study}" for study, folder in studies.items())
        raise UserError(f"these are different studies: {told}. Aggregate sweeps of one study, or pass --mixed")
    return list(found.values())


def group(cells: list[Cell]) -> Grouping:
    """Finds what varied, except the seed and the strength.

    A key inside a config group counts as varied when it varies within one option of that group: the
    sigma of one noise and the alpha of another are not two values of anything.
    """
    flats = [_flat(cell) for cell in cells]
    varied = [key for key in _ordered_keys(flats) if _varies(key, flats)]
    columns = [*ALWAYS, *[key for key in varied if key not in ALWAYS]]
    return Grouping(columns, [tuple(_plain(flat.get(key)) for key in columns) for flat in flats])


def sort_key(values: Iterable[Any]) -> list[tuple]:
    """Orders mixed labels: numbers by size, text by alphabet, nothing last."""
    return [(0, v, "") if _is_number(v) else (2, 0, "") if v is None else (1, 0, str(v)) for v in values]


def _read(folder: Path) -> list[Cell]:
    if not folder.is_dir():
        raise UserError(f"{folder} is no folder")
    cells = []
    for path in records.find_cells(folder):
        manifest = records.read_manifest(path)
        if manifest is not None:
            cells.append(Cell(manifest, path))
    if not cells:
        raise UserError(f"{folder} holds no finished cell (no {records.MANIFEST} below it)")
    return cells


def _study(cells: list[Cell]) -> str:
    """Says what a sweep measures: environments and perturbations."""
    envs = sorted({str(cell.config["env"].get("id")) for cell in cells})
    noises = {cell.choice("perturbation") for cell in cells} - {"none", "Perturbation"}
    return f"{', '.join(sorted(noises)) or 'no perturbation'} on {', '.join(envs)}"


def _identity(cell: Cell) -> str:
    asked = {key: value for key, value in cell.config.items() if key not in NEUTRAL}
    return json.dumps([asked, cell.manifest.get("choices"), cell.manifest["cell"]], sort_keys=True)


def _flat(cell: Cell) -> dict[str, Any]:
    flat: dict[str, Any] = {name: cell.choice(name) for name in GROUPS}
    skipped = {"seed", "env.lanes", f"perturbation.{cell.strength_name}", *NEUTRAL}

    def walk(node: dict[str, Any], prefix: str) -> None:
        for key, value in node.items():
            path = f"{prefix}{key}"
            if isinstance(value, dict) and value:
                walk(value, f"{path}.")
            elif path not in skipped and key != "_target_" and path not in GROUPS:
                flat[path] = value

    walk(cell.config, "")
    return flat


def _ordered_keys(flats: list[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(key for flat in flats for key in flat))


def _varies(key: str, flats: list[dict[str, Any]]) -> bool:
    top, _, rest = key.partition(".")
    values: dict[Any, set[str]] = {}
    for flat in flats:
        if key in flat:
            option = flat[top] if rest and top in GROUPS else None
            values.setdefault(option, set()).add(json.dumps(flat[key], sort_keys=True))
    return any(len(seen) > 1 for seen in values.values())


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, str | int | float | bool) else json.dumps(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
