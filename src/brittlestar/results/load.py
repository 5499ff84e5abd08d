"""Reads recorded cells back."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from brittlestar.cells import store as records
from brittlestar.cells.identity import NEUTRAL
from brittlestar.config import GROUPS
from brittlestar.errors import UserError

RATES = ("success_any", "success_final")
ROW_KEYS = ("episode", "reset_seed", "phase")
"""Columns of an episode row that are not metrics."""
Row = dict[str, Any]
_HELD_BYTES = 2**28
_PLAIN = (str, int, float, type(None))
_COMPLETE = {"cell", "status", "config", "strength"}
_UNUSED = ("provenance", "timing", "traceback", "delivery")


@dataclass
class Cell:
    """A recorded cell. Its rows are on disk (or in memory, for the Python API) until `rows` reads them."""

    manifest: dict[str, Any]
    folder: Path | None = None
    held: np.ndarray | None = None
    phase: str | None = None
    """The phase of the stress schedule whose episodes count; None for all."""
    direction: str | None = None
    """`down` or `up` in a sweep with strengths below 0, else None."""

    @property
    def config(self) -> dict[str, Any]:
        """The resolved config of the cell."""
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

    @property
    def notes(self) -> list[str]:
        """What the cell recorded for its readers: where its environment comes from, what its parts did."""
        return self.manifest.get("notes") or []

    @property
    def role(self) -> str | None:
        """The name that a study gave to a cell it added; None for a cell of the sweep itself."""
        return self.config.get("role")

    @property
    def place(self) -> Row:
        """Strength and seed as table columns."""
        return {"strength_name": self.strength_name, "strength": self.strength, "seed": self.seed}

    def choice(self, group: str) -> str:
        """Returns the option chosen in a config group, or the class name where there is no Hydra."""
        chosen = self.manifest.get("choices", {}).get(group)
        return chosen or str((self.config.get(group) or {}).get("_target_", "none")).rpartition(".")[2]

    @functools.cached_property
    def flat(self) -> dict[str, Any]:
        """Options and config values by dotted key, without seed, strength and keys that change no result."""
        flat: dict[str, Any] = {}
        _flatten({key: value for key, value in self.config.items() if key not in NEUTRAL}, "", flat)
        for key in ("seed", "env.lanes", f"perturbation.{self.strength_name}"):
            flat.pop(key, None)
        flat |= {name: self.choice(name) for name in GROUPS}
        sides = {"phase": self.phase, "direction": self.direction}
        return flat | {name: side for name, side in sides.items() if side is not None}

    def rows(self) -> np.ndarray:
        """Returns the episode rows, `(episodes, columns)`."""
        if self.held is not None:
            return self.held
        assert self.folder is not None
        rows = records.read_rows(self.folder)
        return rows if self.phase is None else self._of_phase(rows)

    def column(self, name: str) -> np.ndarray:
        """Returns one column of the episode rows."""
        return self.rows()[:, list(self.manifest["columns"]).index(name)]

    def rewards(self) -> np.ndarray | None:
        """Returns the reward over time, `(steps, REWARD_COLUMNS)`, of its phase; None if there is no record of it."""
        if self.folder is None or not (self.folder / records.REWARDS).is_file():
            return None
        # Only a picture needs the record, so a damaged one is none.
        with contextlib.suppress(UserError, IndexError):
            phases = self.manifest["phases"]
            return records.read_rows(self.folder, records.REWARDS)[phases.index(self.phase or phases[0])]
        return None

    def by_phase(self) -> list[Cell]:
        """Returns the cell, or one for each phase of its stress schedule."""
        phases = self.manifest.get("phases", ())
        if not self.done or len(phases) < 2:
            return [self]
        cells = [Cell(self.manifest, self.folder, phase=phase) for phase in phases]
        for cell in cells:
            cell.held = None if self.held is None else cell._of_phase(self.held)
        return cells

    def by_direction(self) -> list[Cell]:
        """Returns the cell on its side of a sweep through 0; a strength of 0 is on both."""
        sides = ["down"] * (self.strength <= 0) + ["up"] * (self.strength >= 0)
        return [dataclasses.replace(self, direction=side) for side in sides]

    def _of_phase(self, rows: np.ndarray) -> np.ndarray:
        code = self.manifest["phases"].index(self.phase)
        return rows[rows[:, list(self.manifest["columns"]).index("phase")] == code]


def load_cells(folders: Iterable[str | Path], mixed: bool = False) -> list[Cell]:
    """Reads every complete manifest below the folders; a cell with two records counts once.

    Sweeps of different studies are an error, unless they may be `mixed` in one table.
    """
    loaded: dict[tuple, Cell] = {}
    studies: dict[str, str] = {}
    for folder in map(Path, folders):
        cells = _read(folder)
        studies.setdefault(_study(cells), str(folder))
        for cell in cells:
            place = (frozenset(cell.flat.items()), cell.role, cell.strength_name, cell.strength, cell.seed)
            loaded[place] = _better(loaded.get(place), cell)
    if len(studies) > 1 and not mixed:
        contents = "; ".join(f"{folder} is {study}" for study, folder in studies.items())
        raise UserError(f"these are different studies: {contents}. Aggregate sweeps of one study, or pass --mixed")
    return list(loaded.values())


def hold_rows(cells: Iterable[Cell]) -> None:
    """Holds the rows of as many cells in memory as fit: the tables read them twice, and files are slow."""
    left = _HELD_BYTES
    for cell in cells:
        rows = cell.rows()
        left -= rows.nbytes
        if left < 0:
            return
        cell.held = rows


def _read(folder: Path) -> list[Cell]:
    if not folder.is_dir():
        raise UserError(f"no folder at {folder}")
    cells = []
    for path in records.find_cells(folder):
        manifest = records.read_manifest(path)
        # The store's own copy of a cell has no strength.
        if isinstance(manifest, dict) and manifest.keys() >= _COMPLETE:
            cells.append(Cell({key: value for key, value in manifest.items() if key not in _UNUSED}, path))
    if not cells:
        raise UserError(f"{folder} holds no finished cell (no complete {records.MANIFEST} of a sweep below it)")
    return cells


def _study(cells: list[Cell]) -> str:
    """Names the environments and perturbations of a sweep."""
    cells = [cell for cell in cells if cell.role is None] or cells
    envs = sorted({str(cell.config["env"].get("id")) for cell in cells})
    noises = {cell.choice("perturbation") for cell in cells} - {"none", "Perturbation"}
    return f"{', '.join(sorted(noises)) or 'no perturbation'} on {', '.join(envs)}"


def _better(other: Cell | None, cell: Cell) -> Cell:
    """Chooses between two records of the same config: a result replaces a failure."""
    if other is None or (cell.done and not other.done):
        return cell
    # 1 and 1.0 have two hashes and one result.
    twins = not cell.done or cell.manifest["cell"] == other.manifest["cell"]
    if not twins and not np.array_equal(cell.rows(), other.rows(), equal_nan=True):
        raise UserError(
            f"{other.folder} and {cell.folder} have the same config and different results (other code, versions "
            "or policy file): aggregate them apart"
        )
    return other


def _flatten(node: dict[str, Any], prefix: str, flat: dict[str, Any]) -> None:
    for key, value in node.items():
        if isinstance(value, dict) and value:
            _flatten(value, f"{prefix}{key}.", flat)
        else:
            flat[prefix + key] = value if isinstance(value, _PLAIN) else json.dumps(value)
