"""Cells without a result: a gate on the others is not complete."""

from brittlestar.errors import counted
from brittlestar.results.aggregate import Tables
from brittlestar.results.gate import NOT_MEASURED, GateCheck, GatedRequirement
from brittlestar.results.requirements import Quantity, Requirement

COMPLETE = "every cell has a result"
"""What every gate requires; listed only where it does not hold."""


def lost_cells(tables: Tables, missing: int = 0) -> str:
    """Returns how many cells failed, and how many have no record, as text; empty if none."""
    counts = {"failed": len(tables.failures), "without a record": missing}
    return " and ".join(f"{counted(count, 'cell')} {how}" for how, count in counts.items() if count)


def judge_completeness(tables: Tables, missing: int = 0) -> list[GatedRequirement]:
    """Returns a requirement that is not measured if cells are lost: what the other cells meet is no pass."""
    lost = lost_cells(tables, missing)
    complete = Requirement(COMPLETE, Quantity("cells"), ">=", None, 0.0)
    return [GatedRequirement(complete, [GateCheck("", NOT_MEASURED, message=lost)])] if lost else []
