"""What a study is: the cells that it adds to a sweep, and what it makes of the finished ones."""

import copy
import json
from collections.abc import Generator, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from brittlestar.cells.job import Job
from brittlestar.reports.sections import Section
from brittlestar.results.load import Cell


@dataclass(frozen=True)
class Round:
    """Cells that run together, and a line for the terminal: what is known so far, or why these cells run."""

    cells: list[Job]
    note: str = ""


Rounds = Generator[Round, list[Cell], None]
"""Yields rounds, and receives the finished cells of each, failed ones among them, in the order of the round."""


@dataclass
class Study:
    """Adds nothing to a sweep: its tables are the result. Other studies derive from it.

    Example:
        >>> Study().extra_cells([]), Study().rounds([]), Study().analyse([], Path("."))
        ([], None, [])
    """

    def rounds(self, cells: Iterable[Job]) -> Rounds | None:
        """Returns a generator that chooses the cells of the sweep in rounds; None to run all cells at once.

        `cells` are the combinations of the overrides, composed when read; `with_overrides` makes others of them. A
        choice must depend on nothing but the finished cells: then a sweep that was killed repeats the same rounds,
        from the store.
        """
        return None

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
    return replace(cell, config=copy.deepcopy(cell.config) | values, overrides=[*overrides, *_texts(values)])


def with_overrides(cell: Job, values: dict[str, Any]) -> Job:
    """Returns a cell with other overrides, for a round: keys with dots and groups are possible; its config is not set.

    Example:
        >>> cell = Job({}, overrides=["env=pong", "seed=1"])
        >>> with_overrides(cell, {"perturbation": "fog", "perturbation.amount": 0.25, "seed": 3}).overrides
        ['env=pong', 'perturbation=fog', 'perturbation.amount=0.25', 'seed=3']
    """
    kept = [text for text in cell.overrides if text.lstrip("+").partition("=")[0] not in values]
    return replace(cell, overrides=[*kept, *_texts(values)])


def _texts(values: dict[str, Any]) -> list[str]:
    return [f"{key}={value if isinstance(value, str) else json.dumps(value)}" for key, value in values.items()]
