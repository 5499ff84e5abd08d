"""Reward over time: the records of cells, pooled over seeds, one curve per strength."""

from dataclasses import dataclass

import numpy as np

from brittlestar.engine.reward_recorder import REWARD_COLUMNS
from brittlestar.results.aggregate import Tables
from brittlestar.results.load import Row

BAND = ("q25", "q75")
"""Quantiles over episodes at the ends of a band."""


@dataclass(frozen=True)
class RewardCurve:
    """The cumulative reward after each of some steps, from 0 on, over the episodes of all seeds at one strength."""

    label: Row
    env_id: str
    strength_name: str | None
    strength: float
    steps: np.ndarray
    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray


def reward_curves(tables: Tables) -> list[RewardCurve]:
    """Returns the curves of all cells with a record, in the order of the tables."""
    curves = []
    for label, members in tables.members().items():
        for strength, cells in members.groups(lambda cell: cell.strength).items():
            seeds = [(cell, record) for cell in cells if (record := cell.rewards()) is not None]
            if not seeds:
                continue
            first = seeds[0][0]
            names, place = dict(zip(tables.grouping.columns, label, strict=True)), first.config["env"].get("id")
            table = _pool([record for _, record in seeds])
            columns = (table[REWARD_COLUMNS.index(name)] for name in ("step", "mean", *BAND))
            curves.append(RewardCurve(names, str(place), first.strength_name, strength, *columns))
    return curves


def _pool(records: list[np.ndarray]) -> np.ndarray:
    """Returns the mean of records over seeds, `(REWARD_COLUMNS, steps)`, at the steps that the coarsest of them has.

    Every seed counts the same, as in the tables. Each column starts at 0.
    """
    distance, longest = (max(record[place, 0] for record in records) for place in (0, -1))
    steps = np.minimum(np.arange(0, longest + distance, distance), longest)
    tables = [np.concatenate([np.zeros((1, record.shape[1])), record]) for record in records]
    # Beyond the last step of a seed its values remain: all of its episodes have ended.
    values = [[np.interp(steps, table[:, 0], column) for column in table.T[1:]] for table in tables]
    return np.concatenate([steps[None], np.mean(values, axis=0)])
