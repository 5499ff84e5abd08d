"""What the tables state about policies that ran behind a server: whether they are repeatable, and their latency."""

from collections.abc import Sequence
from typing import Any

from brittlestar.results.cell_table import Columns
from brittlestar.results.load import Cell, Row
from brittlestar.results.packed_cells import pack_cells

REPEATABLE = "repeatable"
_LATENCY = {"requests": "requests", "latency_median_ms": "median_ms", "latency_p95_ms": "p95_ms"}
"""Columns of the table of cells, and their names in the record."""


def server_of(cell: Cell) -> Row | None:
    """Returns what a cell recorded about the server of its policy; None for a policy that ran here."""
    return cell.manifest.get("server")


def repeatable_column(cells: Sequence[Cell]) -> Row:
    """Returns the column that states whether the cells would come out again; empty where no policy is remote.

    Example:
        >>> repeatable_column([Cell({"server": {"repeatable": False}})])
        {'repeatable': False}
    """
    servers = [server for server in map(server_of, pack_cells(cells).kinds()) if server is not None]
    return {REPEATABLE: all(server["repeatable"] for server in servers)} if servers else {}


def latency_columns(cells: Sequence[Cell]) -> Columns:
    """Returns the latency of every cell, in milliseconds; empty where no policy is remote.

    Example:
        >>> latency_columns([Cell({"server": {"latency": {"requests": 2, "median_ms": 1.5}}})])["latency_median_ms"]
        [1.5]
    """
    if not any((server_of(cell) or {}).get("latency") for cell in pack_cells(cells).kinds()):
        return {}
    logs: list[dict[str, Any]] = [(server_of(cell) or {}).get("latency", {}) for cell in cells]
    return {column: [log.get(name) for log in logs] for column, name in _LATENCY.items()}
