"""What a study is: the cells that it adds to a sweep, and what it makes of the finished ones."""

import copy
import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from brittlestar.cells.job import Job
from brittlestar.reports.sections import Section
from brittlestar.results.load import Cell


@dataclass
class Study:
    """Adds nothing to a sweep: its tables are the result. Other studies derive from it.

    Example:
        >>> Study().extra_cells([]), Study().analyse([], Path("."))
        ([], [])
    """

    def extra_cells(self, cells: Iterable[Job]) -> list[Job]:
        """Returns cells to run in addition to those of the sweep (see `with_keys`), which are composed when read."""
        return []

    def analyse(self, cells: list[Cell], out: Path) -> list[Section]:
        """Returns sections for the report on a sweep, and writes their tables and pictures to the folder `out`.

        Failed cells are among `cells`; extra cells have a `role`.
        """
        return []


def with_keys(cell: Job, **values: Any) -> Job:
    """Returns a cell with other values of top-level keys, in its config and in its overrides.

    Example:
        >>> with_keys(Job({"seed": 1}, overrides=["env=pong", "seed=1"]), seed=2, clean=True).overrides
        ['env=pong', 'seed=2', 'clean=true']
    """
    overrides = [text for text in cell.overrides if text.lstrip("+~").partition("=")[0].partition(".")[0] not in values]
    texts = [f"{key}={value if isinstance(value, str) else json.dumps(value)}" for key, value in values.items()]
    return replace(cell, config=copy.deepcopy(cell.config) | values, overrides=[*overrides, *texts])
