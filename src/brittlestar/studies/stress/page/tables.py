"""The tables of a finished benchmark, read back from its folder."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from brittlestar.errors import UserError
from brittlestar.results.load import Row

BASELINE = "baseline"
MODES = {True: "deterministic", False: "stochastic"}


@dataclass(frozen=True)
class StudyTables:
    """Rows per agent and stressor, per run, per agent; correlations over agents; cells without a result."""

    stress: list[Row]
    runs: list[Row]
    leaderboard: list[Row]
    correlations: list[Row]
    failures: list[Row]

    @functools.cached_property
    def silent(self) -> set[str]:
        """Names of stressors under which no action of any agent was another one."""
        return {name for name in self.stressors if all(is_silent(row) for row in self.under(name))}

    @functools.cached_property
    def stressors(self) -> list[str]:
        """Names of all stressors, in the order of the table."""
        names = dict.fromkeys(str(row["perturbation"]) for row in self.stress)
        return [name for name in names if name != BASELINE]

    @property
    def acting(self) -> list[str]:
        """Names of the stressors that changed what somebody did."""
        return [name for name in self.stressors if name not in self.silent]

    def under(self, stressor: str) -> list[Row]:
        """Returns the rows of one stressor."""
        return [row for row in self.stress if row["perturbation"] == stressor]

    def agents(self) -> dict[tuple, dict[str, Row]]:
        """Returns by environment, policy and mode the rows by stressor."""
        found: dict[tuple, dict[str, Row]] = {}
        for row in self.stress:
            found.setdefault(agent_of(row), {})[str(row["perturbation"])] = row
        return found


def agent_of(row: Row) -> tuple[str, str, bool]:
    """Returns environment, policy and mode of a row."""
    return str(row["env"]), short(row["policy"]), bool(row.get("deterministic", True))


def short(policy: str) -> str:
    """Returns the name of a policy of the zoo.

    Example:
        >>> short("zoo/cartpole_ppo")
        'cartpole_ppo'
    """
    return policy.removeprefix("zoo/")


def is_silent(row: Row) -> bool:
    """Says whether it is proven that a stressor changed no action."""
    return str(row["verdict"]).startswith("cannot")


def collapsed(row: Row) -> bool:
    """Says whether more episodes collapsed than without stress, beyond chance."""
    return bool(row["verdict"] == "collapse")


def mean(values: Iterable[float | None]) -> float:
    """Returns the mean of what is known; nan of nothing.

    Example:
        >>> mean([1.0, None, 3.0])
        2.0
    """
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else float("nan")


def read_tables(folder: Path) -> StudyTables:
    """Reads what the sweep and the leaderboard wrote into a folder."""
    names = ("stress", "stress_runs", "leaderboard", "correlations", "failures")
    return StudyTables(*(_read(folder / f"{name}.json") for name in names))


def _read(path: Path) -> list[Row]:
    try:
        rows: list[Row] = json.loads(path.read_text())
    except FileNotFoundError:
        raise UserError(f"there is no {path}: the leaderboard was not written") from None
    return rows
