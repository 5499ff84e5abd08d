"""Reads finished cells back: what varied between them, and how they group into curves."""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from brittlestar.cells import store as records
from brittlestar.cells.identity import LABEL, NEUTRAL
from brittlestar.config import GROUPS
from brittlestar.errors import UserError

ALWAYS = ("env", "policy", "perturbation")
"""Columns that every table shows, so that it can be read without its sweep."""
RATES = ("success_any", "success_final")
ROW_KEYS = ("episode", "reset_seed", "phase")
"""Columns of an episode row that are no metric."""
Row = dict[str, Any]
_HELD_BYTES = 2**28
_PLAIN = (str, int, float, type(None))
_COMPLETE = {"cell", "status", "config", "strength"}
_UNUSED = ("provenance", "timing", "traceback", "delivery")


@dataclass
class Cell:
    """A recorded cell; its rows stay on disk (or in memory, for the Python API) until they are asked for."""

    manifest: dict[str, Any]
    folder: Path | None = None
    held: np.ndarray | None = None
    phase: str | None = None
    """The phase of the stress schedule whose episodes count; None: all."""
    direction: str | None = None
    """Which way a strength goes that can be below 0; None where none is."""

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

    @property
    def role(self) -> str | None:
        """The name that a study gave to a cell it added; None for a cell of the sweep itself."""
        return self.config.get("role")

    def choice(self, group: str) -> str:
        """Returns the option chosen in a config group, or the class name where there is no Hydra."""
        chosen = self.manifest.get("choices", {}).get(group)
        return chosen or str((self.config.get(group) or {}).get("_target_", "none")).rpartition(".")[2]

    @functools.cached_property
    def flat(self) -> dict[str, Any]:
        """Options and config values by dotted key, without the seed, the strength and what changes no result."""
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
        """Returns the cell on its side of a sweep through 0, or on both if it stands at 0."""
        sides = ["down"] * (self.strength <= 0) + ["up"] * (self.strength >= 0)
        return [dataclasses.replace(self, direction=side) for side in sides]

    def _of_phase(self, rows: np.ndarray) -> np.ndarray:
        code = self.manifest["phases"].index(self.phase)
        return rows[rows[:, list(self.manifest["columns"]).index("phase")] == code]


@dataclass
class Grouping:
    """Which config values tell curves apart, and the label of each cell."""

    columns: list[str]
    labels: list[tuple]

    def label(self, index: int) -> dict[str, Any]:
        """Returns the label of a cell as table columns."""
        return dict(zip(self.columns, self.labels[index], strict=True))


class Curve:
    """All cells of one label, as arrays over strengths and seeds; nan where there is no cell.

    Attributes:
        count: known values of every metric, `(strengths, seeds, metrics)`.
        mean: their mean over episodes, of the same shape.
        std: their standard deviation over episodes, of the same shape.
        scores: the measures of every episode, `(measures, strengths, seeds, episodes)`.
    """

    def __init__(self, label: Row, cells: list[Cell]) -> None:
        self.label, self.cells = label, cells
        # From the clean end: a sweep through 0 has a curve for either direction.
        self.strengths = sorted({cell.strength for cell in cells}, key=abs)
        self.seeds = sorted({cell.seed for cell in cells})
        self.strength_name = min((cell.strength_name for cell in cells if cell.strength_name), default=None)
        self._rows, self._columns = ({v: i for i, v in enumerate(axis)} for axis in (self.strengths, self.seeds))
        if len(set(map(self.place, cells))) < len(cells):
            raise UserError(f"two different cells stand at the same strength and seed of {label}: aggregate apart")
        columns = list(cells[0].manifest["columns"])
        self.metrics = [name for name in columns if name not in ROW_KEYS]
        headline: str = cells[0].manifest["measure"]
        measures = list(RATES) if headline in RATES else [headline]
        scores = self._read([columns.index(name) for name in self.metrics], [columns.index(name) for name in measures])
        # Without a success at every step there is one success, under two names.
        single = headline in RATES and not self.of(self.count, "dwell").any()
        self.measures = [headline] if single else measures
        self.scores = scores[[measures.index(name) for name in self.measures]]
        self.episodes = self.of(self.count, "length")

    def place(self, cell: Cell) -> tuple[int, int]:
        """Returns where a cell stands in the arrays."""
        return self._rows[cell.strength], self._columns[cell.seed]

    def of(self, values: np.ndarray, metric: str) -> np.ndarray:
        """Returns one metric of an array `(strengths, seeds, metrics)`."""
        return values[..., self.metrics.index(metric)]

    def _read(self, metrics: list[int], measures: list[int]) -> np.ndarray:
        shape = len(self.strengths), len(self.seeds)
        self.count = np.zeros((*shape, len(metrics)), dtype=np.int64)
        self.mean, self.std = (np.full((*shape, len(metrics)), np.nan) for _ in range(2))
        found = {}
        for cell in self.cells:
            place, rows = self.place(cell), cell.rows()
            self.count[place], self.mean[place], self.std[place] = moments(rows[:, metrics], axis=0)
            found[place] = rows[:, measures].T
        scores = np.full((len(measures), *shape, max(values.shape[1] for values in found.values())), np.nan)
        for (i, j), values in found.items():
            scores[:, i, j, : values.shape[1]] = values
        return scores


def load_cells(folders: Iterable[str | Path], mixed: bool = False) -> list[Cell]:
    """Reads every complete manifest below the folders; a cell that is there twice counts once.

    Args:
        folders: sweep folders.
        mixed: allow sweeps of different studies in one table.
    """
    found: dict[tuple, Cell] = {}
    studies: dict[str, str] = {}
    for folder in map(Path, folders):
        cells = _read(folder)
        studies.setdefault(_study(cells), str(folder))
        for cell in cells:
            place = (frozenset(cell.flat.items()), cell.role, cell.strength_name, cell.strength, cell.seed)
            found[place] = _better(found.get(place), cell)
    if len(studies) > 1 and not mixed:
        told = "; ".join(f"{folder} is {study}" for study, folder in studies.items())
        raise UserError(f"these are different studies: {told}. Aggregate sweeps of one study, or pass --mixed")
    return list(found.values())


def group(cells: list[Cell]) -> Grouping:
    """Finds what varied, except the seed and the strength.

    A key inside a config group counts as varied when it varies within one option of that group: the
    sigma of one noise and the alpha of another are not two values of anything. So does the name of a model
    stand for the settings of its policy and environment.
    """
    flats = [cell.flat for cell in cells]
    # A failed cell may have keys that no result has: its strength, when the perturbation could not be built.
    keys = set().union(*([cell.flat for cell in cells if cell.done] or flats))
    shown = [*ALWAYS, LABEL] if any(flat.get(LABEL) for flat in flats) else [*ALWAYS]
    columns = shown + sorted((key for key in keys - {*ALWAYS, LABEL} if _varies(key, flats)), key=_rank)
    return Grouping(columns, [tuple(flat.get(key) for key in columns) for flat in flats])


def hold_rows(cells: Iterable[Cell]) -> None:
    """Keeps the rows of as many cells in memory as fit: the tables need them twice, and files are slow."""
    left = _HELD_BYTES
    for cell in cells:
        rows = cell.rows()
        left -= rows.nbytes
        if left < 0:
            return
        cell.held = rows


def sort_key(values: Iterable[Any]) -> list[tuple]:
    """Orders mixed labels: numbers by size, text by alphabet, nothing last."""
    return [(0, v, "") if _is_number(v) else (2, 0, "") if v is None else (1, 0, str(v)) for v in values]


def moments(values: np.ndarray, axis: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns count, mean and standard deviation of what is known along an axis."""
    known = ~np.isnan(values)
    n = known.sum(axis=axis)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(known, values, 0.0).sum(axis=axis) / n
        squares = np.where(known, values - np.expand_dims(mean, axis), 0.0) ** 2
        return n, mean, np.where(n > 1, np.sqrt(squares.sum(axis=axis) / (n - 1)), np.nan)


def _read(folder: Path) -> list[Cell]:
    if not folder.is_dir():
        raise UserError(f"{folder} is no folder")
    cells = []
    for path in records.find_cells(folder):
        manifest = records.read_manifest(path)
        # The store's own copy of a cell does not say which strength was asked for.
        if isinstance(manifest, dict) and manifest.keys() >= _COMPLETE:
            cells.append(Cell({key: value for key, value in manifest.items() if key not in _UNUSED}, path))
    if not cells:
        raise UserError(f"{folder} holds no finished cell (no complete {records.MANIFEST} of a sweep below it)")
    return cells


def _study(cells: list[Cell]) -> str:
    """Says what a sweep measures: environments and perturbations."""
    cells = [cell for cell in cells if cell.role is None] or cells
    envs = sorted({str(cell.config["env"].get("id")) for cell in cells})
    noises = {cell.choice("perturbation") for cell in cells} - {"none", "Perturbation"}
    return f"{', '.join(sorted(noises)) or 'no perturbation'} on {', '.join(envs)}"


def _better(known: Cell | None, cell: Cell) -> Cell:
    """Chooses between two records of the same config: a result stands above a failure."""
    if known is None or (cell.done and not known.done):
        return cell
    # 1 and 1.0 have two hashes and one result.
    twins = not cell.done or cell.manifest["cell"] == known.manifest["cell"]
    if not twins and not np.array_equal(cell.rows(), known.rows(), equal_nan=True):
        raise UserError(
            f"{known.folder} and {cell.folder} have the same config and different results (other code, versions "
            "or policy file): aggregate them apart"
        )
    return known


def _flatten(node: dict[str, Any], prefix: str, flat: dict[str, Any]) -> None:
    for key, value in node.items():
        if isinstance(value, dict) and value:
            _flatten(value, f"{prefix}{key}.", flat)
        else:
            flat[prefix + key] = value if isinstance(value, _PLAIN) else json.dumps(value)


def _rank(key: str) -> tuple[int, str]:
    """Orders columns by config group, whatever the order of the cells."""
    top = key.partition(".")[0]
    return GROUPS.index(top) if top in GROUPS else len(GROUPS), key


def _varies(key: str, flats: list[dict[str, Any]]) -> bool:
    top, _, rest = key.partition(".")
    inside = bool(rest) and top in GROUPS
    owners = (top, LABEL) if top in ("env", "policy") else (top,)
    pairs = {(tuple(flat.get(owner) for owner in owners if inside), flat.get(key)) for flat in flats}
    return len(pairs) > len({option for option, _ in pairs})


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
