"""Published figures, read from a file of the user's; the project ships none."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from brittlestar.errors import UserError, nearest
from brittlestar.results.load import Row

from .studies import TASKS

EPISODES = 100
"""Episodes behind a published rate."""
HARDENED = "sac_clean_vs_robust_observation"
_RATES = ("success_rate",)
_COLUMNS = {
    "sac_observation": ("sigma", _RATES),
    "sac_action": ("sigma", _RATES),
    "p_controller_observation": ("sigma", _RATES),
    "p_controller_action": ("sigma", _RATES),
    "sac_low_pass_at_sigma_act_0.5": ("alpha", _RATES),
    HARDENED: ("sigma", ("clean_success_rate", "robust_success_rate", "delta")),
}
"""Tables of a task: what a row is found by, and what it must have."""
_SUMMARY = ("policy", "env", "noise", "critical_sigma", "slope", "auc")


@dataclass
class Published:
    """Tables by task and name, and the summary of all curves; without a file, all of them are empty."""

    tables: dict[str, dict[str, list[Row]]]
    summary: list[Row]

    def __bool__(self) -> bool:
        return bool(self.tables)

    def row(self, task: str, table: str, x: float) -> Row:
        """Returns the row at a level; empty where nothing was published."""
        key, _ = _COLUMNS.get(table, ("sigma", ()))
        rows = self.tables.get(TASKS[task], {}).get(table, [])
        return next((row for row in rows if abs(row[key] - x) < 1e-9), {})

    def shape(self, task: str, policy: str, noise: str) -> Row:
        """Returns critical sigma, slope and auc of a curve; empty where nothing was published."""
        wanted = (policy, TASKS[task], noise)
        return next((row for row in self.summary if (row["policy"], row["env"], row["noise"]) == wanted), {})


def read(path: Path | None) -> Published:
    """Reads and checks a file of published figures; None for no file."""
    if path is None:
        return Published({}, [])
    try:
        content = json.loads(path.read_text())
    except OSError as error:
        raise UserError(f"cannot read the published figures in {path}: {error.strerror}") from None
    except ValueError as error:
        raise UserError(f"{path} is no JSON: {error}") from None
    try:
        tables = {env: {name: _table(content, env, name) for name in _COLUMNS} for env in TASKS.values()}
        return Published(tables, _rows(_entry(content, "summary", "the file"), "summary", _SUMMARY, ()))
    except UserError as error:
        raise UserError(f"{path} does not hold the published figures: {error}") from None


def _table(content: Any, env: str, name: str) -> list[Row]:
    key, columns = _COLUMNS[name]
    return _rows(_entry(_entry(content, env, "the file"), name, env), f"{env}.{name}", (key, *columns), (key, *columns))


def _entry(node: Any, name: str, where: str) -> Any:
    if not isinstance(node, dict):
        raise UserError(f"{where} is no table of names")
    if name not in node:
        raise UserError(f"{where} has no `{name}`; {nearest(name, map(str, node))}")
    return node[name]


def _rows(node: Any, where: str, needed: tuple[str, ...], numbers: tuple[str, ...]) -> list[Row]:
    if not isinstance(node, list) or not all(isinstance(row, dict) for row in node):
        raise UserError(f"`{where}` is no list of rows")
    for row in node:
        for name in needed:
            _entry(row, name, f"a row of `{where}`")
        wrong = [name for name in numbers if type(row[name]) not in (int, float)]
        if wrong:
            raise UserError(f"`{wrong[0]}` in `{where}` is no number: {row[wrong[0]]!r}")
    return node
