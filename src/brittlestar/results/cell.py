"""One recorded cell: its config, its facts, and its rows, which are on disk."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from brittlestar.cells.record import EPISODES, REWARDS
from brittlestar.results.manifest_values import choice_of, derived, facts_of, layers_of
from brittlestar.sweeps.index import ArrayFile
from brittlestar.sweeps.layers import GONE, Layered

RATES = ("success_any", "success_final")
ROW_KEYS = ("episode", "reset_seed", "phase")
"""Columns of an episode row that are not metrics."""
Row = dict[str, Any]


@dataclass(slots=True)
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

    @property
    def done(self) -> bool:
        """Whether the cell has a result."""
        return self._facts[0]

    @property
    def seed(self) -> int:
        """The cell's seed."""
        return self.setting("seed")

    @property
    def strength(self) -> float:
        """The perturbation's strength: the x axis."""
        return self._facts[1]

    @property
    def strength_name(self) -> str | None:
        """The name of the strength field."""
        return self._facts[2]

    @property
    def _facts(self) -> tuple[bool, float, str | None]:
        """Whether the cell has a result, the value of its strength, and the name of the strength field."""
        return derived(self.manifest, "facts", facts_of)

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
        return choice_of(self.manifest, group)

    @property
    def flat(self) -> dict[str, Any]:
        """Options and config values by dotted key, without seed, strength and keys that change no result."""
        shared, own = self.layers
        flat = {key: value for key, value in (shared | own).items() if value is not GONE}
        flat.pop(f"perturbation.{self.strength_name}", None)
        return flat

    @property
    def layers(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The values of `flat` in two parts: those of many cells, always the same object, and those of few cells."""
        if self.phase is None and self.direction is None:
            return derived(self.manifest, "layers", layers_of)
        return derived(self.manifest, ("layers", self.phase, self.direction), self._sided_layers)

    def _sided_layers(self, manifest: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        shared, own = layers_of(manifest)
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
