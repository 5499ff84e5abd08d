"""Reads recorded cells back."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from brittlestar.cells.identity import NEUTRAL
from brittlestar.cells.record import EPISODES, REWARDS
from brittlestar.config import GROUPS
from brittlestar.errors import UserError
from brittlestar.sweeps.index import INDEX, ArrayFile, find_indexes, read_header, read_index
from brittlestar.sweeps.layers import GONE, Base, Layered, flatten
from brittlestar.sweeps.missing import is_planned

RATES = ("success_any", "success_final")
ROW_KEYS = ("episode", "reset_seed", "phase")
"""Columns of an episode row that are not metrics."""
Row = dict[str, Any]


@dataclass
class Cell:
    """A recorded cell. Its rows are on disk (or in memory, for the Python API) until `rows` reads them."""

    manifest: Mapping[str, Any]
    held: np.ndarray | None = None
    source: tuple[ArrayFile, int] | None = None
    """The file of its arrays, and where they start."""
    phase: str | None = None
    """The phase of the stress schedule whose episodes count; None for all."""
    direction: str | None = None
    """`down` or `up` in a sweep with strengths below 0, else None."""

    @property
    def config(self) -> dict[str, Any]:
        """The resolved config of the cell."""
        return self.manifest["config"]

    def setting(self, key: str) -> Any:
        """Returns one top-level value of the config; much faster than `config` for the cells of a large sweep."""
        return self.manifest.setting(key) if isinstance(self.manifest, Layered) else self.config.get(key)

    @functools.cached_property
    def done(self) -> bool:
        """Whether the cell has a result."""
        return self.manifest["status"] == "done"

    @functools.cached_property
    def seed(self) -> int:
        """The cell's seed."""
        return self.setting("seed")

    @functools.cached_property
    def strength(self) -> float:
        """The perturbation's strength: the x axis."""
        return self.manifest.get("strength", {}).get("value") or 0.0

    @functools.cached_property
    def strength_name(self) -> str | None:
        """The name of the strength field."""
        return self.manifest.get("strength", {}).get("name")

    @property
    def notes(self) -> list[str]:
        """What the cell recorded for its readers."""
        return self.manifest.get("notes") or []

    @property
    def role(self) -> str | None:
        """The name that a study gave to a cell it added; None for a cell of the sweep itself."""
        return self.setting("role")

    @property
    def place(self) -> Row:
        """Strength and seed as table columns."""
        return {"strength_name": self.strength_name, "strength": self.strength, "seed": self.seed}

    def choice(self, group: str) -> str:
        """Returns the option chosen in a config group, or the class name where there is no Hydra."""
        chosen = self.manifest.get("choices", {}).get(group)
        return chosen or str((self.setting(group) or {}).get("_target_", "none")).rpartition(".")[2]

    @property
    def flat(self) -> dict[str, Any]:
        """Options and config values by dotted key, without seed, strength and keys that change no result."""
        shared, own = self.layers
        flat = {key: value for key, value in (shared | own).items() if value is not GONE}
        flat.pop(f"perturbation.{self.strength_name}", None)
        return flat

    @property
    def layers(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The values of `flat` in two parts: those of many cells, always the same object, and those of this cell."""
        manifest = self.manifest
        if isinstance(manifest, Layered):
            shared, own = _shared_values(manifest.base), _kept(manifest.changed_config())
            if "choices" in manifest.changes:
                own |= {name: self.choice(name) for name in GROUPS}
        else:
            shared, own = {}, _kept(flatten(self.config)) | {name: self.choice(name) for name in GROUPS}
        sides = {"phase": self.phase, "direction": self.direction}
        return shared, own | {name: side for name, side in sides.items() if side is not None}

    def rows(self) -> np.ndarray:
        """Returns the episode rows, `(episodes, columns)`."""
        if self.held is not None:
            return self.held
        rows = self.array(EPISODES)
        return rows if self.phase is None else self._of_phase(rows)

    def array(self, name: str) -> np.ndarray:
        """Returns one of the recorded arrays, see `cells.record`; raises `DamagedCellError` for a damaged one."""
        assert self.source is not None
        return self.source[0].read(self.source[1], self.manifest["files"], name)

    def column(self, name: str) -> np.ndarray:
        """Returns one column of the episode rows."""
        return self.rows()[:, list(self.manifest["columns"]).index(name)]

    def rewards(self) -> np.ndarray | None:
        """Returns the reward over time, `(steps, REWARD_COLUMNS)`, of its phase; None if there is no record of it."""
        phases = self.manifest.get("phases", ())
        if self.source is None or REWARDS not in (files := self.manifest["files"]):
            return None
        return self.source[0].read(self.source[1], files, REWARDS)[phases.index(self.phase or phases[0])]

    def by_phase(self) -> list[Cell]:
        """Returns the cell, or one for each phase of its stress schedule."""
        phases = self.manifest.get("phases", ())
        if not self.done or len(phases) < 2:
            return [self]
        cells = [dataclasses.replace(self, held=None, phase=phase) for phase in phases]
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


_WITH_SEED = ("seed", "env.lanes", "policy.training")
"""Keys that distinguish no curves: seeds, the trainings that `policy.training=${seed}` chooses, and lanes."""


def _kept(flat: dict[str, Any]) -> dict[str, Any]:
    """Returns the values that distinguish curves."""
    return {key: value for key, value in flat.items() if key not in _WITH_SEED and key.partition(".")[0] not in NEUTRAL}


@functools.lru_cache(maxsize=4096)
def _shared_values(base: Base) -> dict[str, Any]:
    cell = Cell(base.manifest)
    return _kept(base.flat) | {name: cell.choice(name) for name in GROUPS}


def load_cells(folders: Iterable[str | Path], mixed: bool = False) -> list[Cell]:
    """Reads the cells of the sweeps in some folders; a cell with two records counts once.

    Sweeps of different studies are an error, unless they may be `mixed` in one table.
    """
    loaded, studies = dict[int, list[Cell]](), dict[str, str]()
    for folder in map(Path, folders):
        cells = read_cells(folder)
        studies.setdefault(_study(cells), str(folder))
        for cell in cells:
            twins = loaded.setdefault(_quick_hash(cell), [])
            same = [i for i, twin in enumerate(twins) if _identity(twin) == _identity(cell)]
            place = same[0] if same else len(twins)
            twins[place : place + 1] = [_better(twins[place] if same else None, cell)]
    if len(studies) > 1 and not mixed:
        contents = "; ".join(f"{folder} is {study}" for study, folder in studies.items())
        raise UserError(f"these are different studies: {contents}. Aggregate sweeps of one study, or pass --mixed")
    return [cell for twins in loaded.values() for cell in twins]


def _identity(cell: Cell) -> tuple:
    return cell.flat, cell.role, cell.strength_name, cell.strength, cell.seed


def _quick_hash(cell: Cell) -> int:
    """Returns a hash that is the same for cells of the same identity, without a look at all values of each cell."""
    shared, own = cell.layers
    total = _hash_of_shared(cell.manifest.base) if isinstance(cell.manifest, Layered) else 0
    for key, value in own.items():
        if key in shared:
            total -= hash((key, shared[key]))
        if value is not GONE:
            total += hash((key, value))
    return hash((total, cell.strength, cell.seed))


@functools.lru_cache(maxsize=4096)
def _hash_of_shared(base: Base) -> int:
    return sum(map(hash, _shared_values(base).items()))


def read_cells(folder: Path) -> list[Cell]:
    """Returns the cells of the sweep in a folder, in the order of their numbers; a missing one is left out."""
    if not folder.is_dir():
        raise UserError(f"no folder at {folder}")
    cells, plan = list[Cell](), read_header(folder)[1]
    for place in find_indexes(folder):
        entries = read_index(place)
        cells += [Cell(e.manifest, source=(e.arrays, e.offset)) for e in entries if is_planned(e.manifest, plan)]
    if not cells:
        older = "; cells of earlier versions are not read" if next(folder.glob("*/manifest.json"), None) else ""
        raise UserError(f"{folder} holds no finished cell of a sweep (no {INDEX} in it or below it{older})")
    return sorted(cells, key=lambda cell: cell.manifest.get("number", 0))


def _study(cells: list[Cell]) -> str:
    """Names the environments and perturbations of a sweep."""
    cells = [cell for cell in cells if cell.role is None] or cells
    envs = sorted({str(cell.setting("env").get("id")) for cell in cells})
    noises = {cell.choice("perturbation") for cell in cells} - {"none", "Perturbation"}
    return f"{', '.join(sorted(noises)) or 'no perturbation'} on {', '.join(envs)}"


def _better(other: Cell | None, cell: Cell) -> Cell:
    """Chooses between two records of the same config: a result replaces a failure."""
    if other is None or (cell.done and not other.done):
        return cell
    # 1 and 1.0 have two hashes and one result.
    twins = not cell.done or cell.manifest["cell"] == other.manifest["cell"]
    if not twins and not np.array_equal(cell.rows(), other.rows(), equal_nan=True):
        places = " and ".join(str(one.source[0].path) for one in (other, cell) if one.source)
        raise UserError(
            f"{places} have cells of the same config and different results (other code, versions or policy file): "
            "aggregate these sweeps apart"
        )
    return other
