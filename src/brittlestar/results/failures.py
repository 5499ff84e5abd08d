"""Failed cells: one row each, and grouped by error."""

import re
from typing import TypedDict

from brittlestar.results.load import Cell, Row


class FailureGroup(TypedDict):
    """Cells that failed with one error: the overrides in common, and the other overrides of the first cell."""

    cells: int
    error: str
    overrides: str
    first: str


def failure_row(label: Row, cell: Cell) -> Row:
    """Returns the row of a failed cell; the strength is None if it could not be determined."""
    strength = {} if cell.strength_name is not None else {"strength": None}
    overrides = " ".join(cell.manifest.get("overrides", []))
    return label | cell.place | strength | {"error": cell.manifest["error"], "overrides": overrides}


def failure_groups(failures: list[Row]) -> list[FailureGroup]:
    """Groups failed cells by error.

    Example:
        >>> rows = [{"error": "it broke", "overrides": f"env=cartpole seed={seed}"} for seed in (0, 1)]
        >>> failure_groups(rows)
        [{'cells': 2, 'error': 'it broke', 'overrides': 'env=cartpole', 'first': 'seed=0'}]
    """
    errors: dict[str, list[list[str]]] = {}
    for row in failures:
        # A value may hold spaces.
        errors.setdefault(row["error"], []).append(re.split(r" (?=[+~]*[\w./@]+=)", row["overrides"]))
    groups: list[FailureGroup] = []
    for error, members in errors.items():
        common = [text for text in members[0] if all(text in member for member in members)]
        first = " ".join(text for text in members[0] if text not in common)
        groups.append({"cells": len(members), "error": error, "overrides": " ".join(common), "first": first})
    return groups
