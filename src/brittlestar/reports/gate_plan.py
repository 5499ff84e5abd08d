"""Checks the requirements of a gate before anything is computed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from brittlestar.cells.job import Job
from brittlestar.engine.metrics import COLUMNS
from brittlestar.errors import UserError
from brittlestar.reports.protocol import planned_cells
from brittlestar.results.gate_curves import choose_curves, metrics_of, planned_curves
from brittlestar.results.load import Cell
from brittlestar.results.requirements import Requirement, read_requirements


def requirements_of(node: Any) -> list[Requirement]:
    """Returns the requirements of the config node `gate`; raises a `UserError` for one that has no meaning."""
    require = node.get("require") or []
    if isinstance(require, str):
        raise UserError(f"`gate.require` must be a list, such as '[\"{require}\"]'")
    return read_requirements(node.get("file"), require, metrics_of(COLUMNS))


def refuse_unmeasured(requirements: list[Requirement], jobs: Iterable[Job]) -> None:
    """Raises a `UserError` for a requirement on a curve or level that a sweep of these jobs will not have."""
    planned = [cell for cell in planned_cells(jobs) if cell.manifest["status"] == "planned" and cell.role is None]
    # As finished cells: only these are split into phases.
    curves = planned_curves([Cell(dict(cell.manifest) | {"status": "done"}) for cell in planned])
    for requirement in requirements if curves else ():
        choose_curves(requirement, curves, metrics_of(COLUMNS))
