"""Rows of the stress tables as figures need them: stressors in order, agents by name, means with intervals."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from brittlestar.results.load import Row
from brittlestar.results.ranges import cut, range_of
from brittlestar.results.rows import group_rows
from brittlestar.statistics.arrays import without_nan
from brittlestar.statistics.intervals import t_interval
from brittlestar.studies.stress.agents import MODES
from brittlestar.studies.stress.runs import is_silent
from brittlestar.studies.stress.scoring import BASELINE, mean_or_nan

_TRAITS = ("algorithm", "on_policy", "discrete")
_EVALUATION_SEEDS = "Seeds are those of the evaluation, not of the training."
_TRAINING_SEEDS = "Each seed has a training of its own, where a policy of the zoo has several, and its own episodes."
_GROUPS = ("env", "perturbation", "stress_schedule")


class UnsuitedError(Exception):
    """The reason why a figure cannot be drawn from these rows."""


@dataclass(frozen=True)
class Mean:
    """A mean with its interval, over `n` policies; bounds are nan where one value has no spread."""

    value: float
    low: float = math.nan
    high: float = math.nan
    n: int = 0

    @classmethod
    def of(cls, row: Row, name: str) -> Mean:
        """Returns a column of a row with its interval."""
        value, low, high = (number_in(row, f"{name}{end}") for end in ("", "_low", "_high"))
        return cls(value, low, high)

    @classmethod
    def of_policies(cls, rows: list[Row], name: str) -> Mean | None:
        """Returns the mean of these very policies: its bounds are the mean of theirs, which is never too narrow."""
        values, lows, highs = (by_policy(rows, f"{name}{end}").values() for end in ("", "_low", "_high"))
        return cls(_mean(values), _mean(lows), _mean(highs), len(values)) if values else None

    @classmethod
    def over_policies(cls, rows: list[Row], name: str) -> Mean | None:
        """Returns the mean over policies with a Student interval over them, or over seeds where there is one policy.

        It is never narrower than the policies' intervals on average: policies may agree by chance.
        """
        mean = cls.of_policies(rows, name)
        if mean is None:
            return None
        units = list(by_policy(rows, name).values())
        if mean.n == 1:
            units = [_mean(number_in(row, name) for row in part) for part in grouped(rows, "seed").values()]
        interval = t_interval(np.array(units or [math.nan]))
        if math.isnan(float(interval.low)) and math.isnan(mean.low):
            return cls(mean.value, n=mean.n)
        bounds = np.fmin(interval.low, mean.low), np.fmax(interval.high, mean.high)
        low, high = map(float, cut(range_of(name), mean.value, *bounds))
        return cls(mean.value, low, high, mean.n)


@dataclass
class FigureTables:
    """The tables of a study; rows of `stress`, `runs` and `leaderboard` have `stressor`, `agent`, `place` and `mode`.

    Attributes:
        stress: one row per agent and stressor.
        runs: one row per agent, stressor and seed.
        episodes: one row per episode, as they are in the table.
        leaderboard: one row per agent.
        alpha: accepted false-alarm rate.
        stressors: in the order to draw them: the baseline, those that act, those that cannot.
        silent: stressors that changed no action of any agent.
        names: for rows of `episodes`.
    """

    stress: list[Row]
    runs: list[Row]
    episodes: list[Row]
    leaderboard: list[Row]
    alpha: float
    stressors: list[str]
    silent: frozenset[str]
    names: Names

    def need(self, name: str, *columns: str) -> list[Row]:
        """Returns the rows of a table; refuses one that is empty or has no column of a name."""
        rows: list[Row] = getattr(self, name)
        if not rows:
            raise UnsuitedError(f"the table `{name}` is empty")
        for column in columns:
            if all(row.get(column) is None for row in rows):
                raise UnsuitedError(f"`{name}` has no `{column}`")
        return rows

    @property
    def seeds_note(self) -> str:
        """What seeds are: those of evaluations, or of trainings as well."""
        return _TRAINING_SEEDS if any(row.get("training") for row in self.runs) else _EVALUATION_SEEDS

    @property
    def acting(self) -> list[str]:
        """Stressors that changed an action of some agent."""
        return [name for name in self.stressors if name != BASELINE and name not in self.silent]

    def acted(self, rows: Iterable[Row]) -> list[Row]:
        """Returns the rows under stressors that act."""
        acting = set(self.acting)
        return [row for row in rows if row["stressor"] in acting]


class Names:
    """Names the stressor, agent, place and mode of a row."""

    def __init__(self, rows: list[Row]) -> None:
        strengths: dict[str, set] = {}
        settings: dict[str, set] = {}
        for row in rows:
            if not _is_calm(row):
                strengths.setdefault(str(row.get("perturbation")), set()).add(row.get("strength"))
            for name in filter(_is_setting, row):
                settings.setdefault(name, set()).add(str(row[name]))
        self.several = {name for name, values in strengths.items() if len(values) > 1}
        self.settings = {name: _short(values) for name, values in settings.items() if len(values) > 1}
        self.modes: dict[str, set[bool]] = {}
        for row in rows:
            if row.get("deterministic") is not None:
                self.modes.setdefault(self._agent(row), set()).add(bool(row["deterministic"]))

    def named(self, row: Row) -> Row:
        """Returns a copy of a row with `stressor`, `agent`, `place`, `mode` and `sampled`."""
        agent, mode = self._agent(row), row.get("deterministic")
        if mode is None:
            modes = self.modes.get(agent, set())
            mode = next(iter(modes)) if len(modes) == 1 else True
        names = {"stressor": self._stressor(row), "agent": agent, "place": _place(row), "mode": MODES[bool(mode)]}
        return row | names | {"sampled": not mode}

    def _stressor(self, row: Row) -> str:
        """Returns the perturbation, with its strength where there are several."""
        if _is_calm(row):
            return BASELINE
        name = str(row.get("perturbation"))
        strength = f" {row['strength']:g}" if name in self.several and isinstance(row["strength"], float) else ""
        return name.replace("_", " ") + strength

    def _agent(self, row: Row) -> str:
        """Returns environment and policy; a policy that is named after its environment alone."""
        policy, place = str(row.get("policy")).rpartition("/")[2].replace("_", " "), _place(row)
        parts = [policy if policy.startswith(place) else f"{place} {policy}"]
        parts += [short.get(str(row[name]), "") for name, short in self.settings.items() if row.get(name) is not None]
        return " ".join(parts)


def prepare_tables(
    stress: list[Row], runs: list[Row], episodes: list[Row], leaderboard: list[Row], alpha: float = 0.05
) -> FigureTables:
    """Prepares the tables for drawing.

    Where all actions were identical to those without stress, the rate is that of the same episodes without stress,
    whatever a scoring makes of the rewards.
    """
    names = Names([*stress, *runs])
    runs = [names.named(row) for row in runs]
    traits = {row["agent"]: {name: row.get(name) for name in _TRAITS} for row in runs}
    stress = [traits.get(row["agent"], {}) | row for row in map(names.named, stress)]
    acts: dict[str, bool] = {}
    for row in [*stress, *runs]:
        row["proven"] = bool(row.get("reward_only")) or is_silent(row)
        acts[row["stressor"]] = acts.get(row["stressor"], False) or not row["proven"]
    for rows in (stress, runs):
        _replace_proven(rows)
    order = sorted(acts, key=lambda name: (name != BASELINE, not acts[name], name))
    silent = frozenset(name for name in order if not acts[name])
    return FigureTables(stress, runs, episodes, [*map(names.named, leaderboard)], alpha, order, silent, names)


def number_in(row: Row, name: str) -> float:
    """Returns a number of a row; nan where it is missing.

    Example:
        >>> number_in({"rate": 1, "low": None}, "rate"), number_in({}, "low")
        (1.0, nan)
    """
    value = row.get(name)
    return math.nan if value is None or isinstance(value, str) else float(value)


def grouped(rows: Iterable[Row], *columns: str) -> dict[Any, list[Row]]:
    """Groups rows by a column, or by several; rows without one of them are left out."""
    complete = [row for row in rows if all(row.get(column) is not None for column in columns)]
    return {key[0] if len(key) == 1 else key: part for key, part in group_rows(complete, columns).items()}


def by_policy(rows: Iterable[Row], name: str) -> dict[str, float]:
    """Returns the mean of each policy over stressors, seeds and modes, where there is one.

    Each stressor counts the same, so that the seeds of one do not outweigh another.
    """
    means = {}
    for agent, members in grouped(rows, "agent").items():
        parts = [_mean(number_in(row, name) for row in part) for part in grouped(members, "stressor", "mode").values()]
        if not math.isnan(value := _mean(parts)):
            means[agent] = value
    return means


def _replace_proven(rows: list[Row]) -> None:
    calm = {(row["agent"], row["mode"], row.get("seed")): row for row in rows if row["stressor"] == BASELINE}
    for row in rows:
        if row["proven"]:
            same = calm.get((row["agent"], row["mode"], row.get("seed")), {})
            row |= {name: same.get(name) for name in ("rate_shock", "rate_shock_low", "rate_shock_high")}
            row |= {"excess": 0.0, "excess_low": 0.0, "excess_high": 0.0}


def _place(row: Row) -> str:
    return str(row.get("env.id") or row.get("env")).replace("_", " ")


def _is_calm(row: Row) -> bool:
    return bool(row.get("is_baseline")) or row.get("strength") == 0


def _is_setting(name: str) -> bool:
    group, dot, _ = name.partition(".")
    return name in ("model", "mitigation") or bool(dot and group not in _GROUPS)


def _short(values: set[str]) -> dict[str, str]:
    """Returns the last two parts of each path, unless two paths have the same."""
    short = {value: "/".join(value.split("/")[-2:]) for value in values}
    return short if len(set(short.values())) == len(values) else {value: value for value in values}


def _mean(values: Iterable[float]) -> float:
    return mean_or_nan(without_nan(list(values)))
