"""Published figures, read from a file of the user; the project ships none."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from brittlestar.errors import UserError, nearest
from brittlestar.results.load import Row

TASKS = {"fetch_reach": "FetchReach-v4", "fetch_push": "FetchPush-v4"}
"""Environments of the page."""
PUBLISHED_EPISODES = 100
"""Episodes behind a published rate."""
PAIRS = "sac_clean_vs_robust_observation"
LOW_PASS = "sac_low_pass_at_sigma_act_0.5"
_COLUMNS: dict[str, tuple[str, ...]] = {
    f"{role}_{noise}": ("sigma", "success_rate")
    for role in ("sac", "p_controller")
    for noise in ("observation", "action")
}
_COLUMNS[LOW_PASS] = ("alpha", "success_rate")
_COLUMNS[PAIRS] = ("sigma", "clean_success_rate", "robust_success_rate", "delta")
"""Tables of a task: the column of the level, and the numbers that a row must have."""
_SUMMARY = ("policy", "env", "noise", "critical_sigma", "slope", "auc")


@dataclass
class Published:
    """Tables by environment and name, and the summary of all curves; without a file, all of them are empty."""

    tables: dict[str, dict[str, list[Row]]] = field(default_factory=dict)
    summary: list[Row] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.tables)

    def row(self, task: str, table: str, x: float) -> Row:
        """Returns the row at a level; empty where nothing was published."""
        key = _COLUMNS.get(table, ("sigma",))[0]
        rows = self.tables.get(TASKS[task], {}).get(table, [])
        return next((row for row in rows if abs(row[key] - x) < 1e-9), {})

    def shape(self, task: str, policy: str, noise: str) -> Row:
        """Returns critical sigma, slope and auc of a curve; empty where nothing was published."""
        wanted = (policy, TASKS[task], noise)
        return next((row for row in self.summary if (row["policy"], row["env"], row["noise"]) == wanted), {})


def read_published(path: Path | None) -> Published:
    """Reads and checks a file of published figures; None for no file."""
    if path is None:
        return Published()
    try:
        content = json.loads(path.read_text())
        tables = {
            env: {name: _rows(_entry(content, env), name, env, columns, columns) for name, columns in _COLUMNS.items()}
            for env in TASKS.values()
        }
        return Published(tables, _rows(content, "summary", "the file", _SUMMARY, ()))
    except OSError as error:
        raise UserError(f"cannot read the published figures in {path}: {error.strerror}") from None
    except json.JSONDecodeError as error:
        raise UserError(f"{path} is not JSON: {error}") from None
    except UserError as error:
        raise UserError(f"{path} does not hold the published figures: {error}") from None


def _entry(node: Any, name: str, where: str = "the file") -> Any:
    if not isinstance(node, dict):
        raise UserError(f"{where} must be a table of names")
    if name not in node:
        raise UserError(f"{where} has no `{name}`; {nearest(name, map(str, node))}")
    return node[name]


def _rows(node: Any, name: str, where: str, columns: tuple[str, ...], numbers: tuple[str, ...]) -> list[Row]:
    """Returns the rows of a table; all of them must have the columns, and some must be numbers."""
    rows = _entry(node, name, where)
    place = name if where == "the file" else f"{where}.{name}"
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise UserError(f"`{place}` must be a list of rows")
    for row in rows:
        values = {column: _entry(row, column, f"a row of `{place}`") for column in columns}
        for column in numbers:
            if type(values[column]) not in (int, float):
                raise UserError(f"`{column}` in `{place}` must be a number, got {values[column]!r}")
    return rows
