"""The cells of a sweep that have no record: it runs, or was ended before them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from brittlestar.cells.claims import holder_of
from brittlestar.errors import listed
from brittlestar.sweeps.index import INDEX, find_indexes, overrides_digest, read_header, read_index

_DIGEST_BYTES = 19
"""The digest at the end of a line, with what is behind it."""


class MissingCells(NamedTuple):
    """The numbers of the cells of one sweep that have no record, and how many cells it has."""

    folder: Path
    numbers: list[int]
    total: int

    @property
    def runs(self) -> bool:
        """Whether some process computes the sweep."""
        return holder_of(self.folder) is not None

    def __str__(self) -> str:
        """Returns a part of a sentence."""
        have = "has" if self.total == 1 else "have"
        cells = listed("cell", self.numbers)
        return f"{len(self.numbers)} of {self.total} cells of {self.folder} {have} no record ({cells})"


def missing_cells(folder: Path) -> list[MissingCells]:
    """Returns the sweeps at and below a folder that lack cells; none where no index states how many there are.

    Raises:
        DamagedCellError: if an index lost lines that were in it.
    """
    places, missing = find_indexes(folder), list[MissingCells]()
    planned: Path | None = None
    for place in places:
        if planned is not None and place.is_relative_to(planned):
            continue
        total, plan = read_header(place)
        planned = place if plan is not None else None
        own = [path for path in places if path.is_relative_to(place)] if plan is not None else [place]
        # Reading all lines takes long, and few sweeps lack cells.
        if total is not None and (plan is not None or _count(place) != total):
            numbers = sorted({*range(total)} - _recorded(own, plan))
            missing += [MissingCells(place, numbers, total)] if numbers else []
    return missing


def _count(place: Path) -> int:
    with open(place / INDEX, "rb") as file:
        # A line that is cut is no record. A line that is there twice is one: its end is its digest.
        lines = (line for line in file if line.startswith(b'{"of"') and line.endswith(b"\n"))
        return len({line[-_DIGEST_BYTES:] for line in lines})


def _recorded(places: list[Path], plan: list[str] | None) -> set[int]:
    manifests = (entry.manifest for place in places for entry in read_index(place))
    return {manifest.get("number", 0) for manifest in manifests if is_planned(manifest, plan)}


def is_planned(manifest: Mapping[str, Any], plan: list[str] | None) -> bool:
    """Whether a cell belongs to the sweep whose folder it is in, and not to an earlier one whose jobs still run."""
    number = manifest.get("number", 0)
    return plan is None or (number < len(plan) and plan[number] == overrides_digest(manifest["overrides"]))
