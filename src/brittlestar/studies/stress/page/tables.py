"""The tables of a finished benchmark, read back from its folder."""

import functools
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from brittlestar.errors import UserError
from brittlestar.results.load import Row
from brittlestar.studies.stress.agents import MODES
from brittlestar.studies.stress.runs import is_silent
from brittlestar.studies.stress.scoring import BASELINE
from brittlestar.studies.stress.tables import COLLAPSE


@dataclass(frozen=True)
class BenchmarkTables:
    """Rows per agent and stressor, per agent, per pair of columns that are correlated, and per failed cell."""

    stress: list[Row]
    leaderboard: list[Row]
    correlations: list[Row]
    failures: list[Row]

    @functools.cached_property
    def stressors(self) -> list[str]:
        """Names of all stressors, in the order of the table."""
        names = dict.fromkeys(str(row["perturbation"]) for row in self.stress)
        return [name for name in names if name != BASELINE]

    @functools.cached_property
    def silent(self) -> set[str]:
        """Names of the stressors that changed no action of any agent."""
        return {name for name in self.stressors if all(map(is_silent, self.under(name)))}

    @property
    def acting(self) -> list[str]:
        """Names of the stressors that changed an action of some agent."""
        return [name for name in self.stressors if name not in self.silent]

    def under(self, stressor: str) -> list[Row]:
        """Returns the rows of one stressor."""
        return [row for row in self.stress if row["perturbation"] == stressor]

    def agents(self) -> dict[tuple, dict[str, Row]]:
        """Returns by environment, policy and mode the rows by stressor."""
        agents: dict[tuple, dict[str, Row]] = {}
        for row in self.stress:
            agents.setdefault(tuple(agent_columns(row).values()), {})[str(row["perturbation"])] = row
        return agents


def agent_columns(row: Row) -> Row:
    """Returns environment, policy and mode of a row."""
    policy = str(row["policy"]).removeprefix("zoo/")
    return {"environment": str(row["env"]), "policy": policy, "mode": MODES[bool(row.get("deterministic", True))]}


def collapsed(row: Row) -> bool:
    """Returns whether more episodes collapsed than without stress, beyond chance."""
    return bool(row["verdict"] == COLLAPSE)


def mean(values: Iterable[float | None]) -> float:
    """Returns the mean without missing values; nan where all are missing.

    Example:
        >>> mean([1.0, None, 3.0])
        2.0
    """
    present = [value for value in values if value is not None]
    return sum(present) / len(present) if present else float("nan")


def read_tables(folder: Path) -> BenchmarkTables:
    """Reads what the sweep and the leaderboard wrote into a folder."""
    try:
        names = ("stress", "leaderboard", "correlations", "failures")
        return BenchmarkTables(*(json.loads((folder / f"{name}.json").read_text()) for name in names))
    except FileNotFoundError as error:
        raise UserError(f"there is no {error.filename}: the leaderboard was not written") from None
