"""The scores of a joint sweep: every combination of levels, and the volume under success."""

from __future__ import annotations

import functools
import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from brittlestar.errors import UserError
from brittlestar.randomness import generator
from brittlestar.results.load import Row
from brittlestar.results.ranges import GAP, cut
from brittlestar.statistics.arrays import Array
from brittlestar.statistics.curves import normalised_auc
from brittlestar.statistics.hypothesis_tests import SIGNIFICANCE, bootstrap_test, holm
from brittlestar.statistics.intervals import Interval, percentile_interval
from brittlestar.studies.perception.interactions import DRAWS, against_product
from brittlestar.studies.perception.scores import area_interval, rate_interval

LESS, MORE, OPEN = "less than promised", "more than promised", "undecided"
JOINT_METHODS = [
    "Promised success of a combination: S(a, 0) S(0, b) / S(0, 0), the product of what each axis alone retains, at "
    "most 1.",
    "Measured minus promised: paired plus-four bootstrap over episodes, which are the same in all cells, "
    f"{DRAWS} draws, 95 %, as wide as Student's t; the product is linearised around the measured rates. Seeds are "
    "further episodes.",
    f"Decided: p below {SIGNIFICANCE:g} after Holm's correction over the combinations of a policy.",
    "Volume: success over all levels of all axes, by the trapezoid rule, 0 to 1.",
]
_NO_BOUNDS = Interval(math.nan, math.nan)
Place = tuple[float, ...]
"""A level of every axis."""


@dataclass(frozen=True)
class Gap:
    """A measured rate with its interval, what the product promises, and the difference with its interval."""

    measured: float
    bounds: Interval
    promised: float = math.nan
    """nan if there is no promise."""
    difference: float = math.nan
    difference_bounds: Interval = _NO_BOUNDS
    p: float = math.nan

    def as_row(self, name: str) -> Row:
        """Returns columns of a table; those of the measured rate begin with `name`."""
        row: Row = {name: self.measured, f"{name}_low": self.bounds.low, f"{name}_high": self.bounds.high}
        low, high = self.difference_bounds
        row |= {"promised": self.promised, "difference": self.difference}
        return row | {"difference_low": low, "difference_high": high, "p": self.p}


@dataclass(frozen=True)
class JointScores:
    """The combinations of levels that have a result, and the volume under success."""

    levels: list[list[float]]
    """Levels of every axis."""
    gaps: dict[Place, Gap]
    p_holm: dict[Place, float]
    """Of the combinations of at least two axes above level 0."""
    volume: Gap | None
    """None if a cell has no result."""
    episodes: int

    def verdict(self, place: Place) -> str:
        """Returns whether the difference of a combination is decided; empty where there is none."""
        if place not in self.p_holm:
            return ""
        if self.p_holm[place] < SIGNIFICANCE:
            return MORE if self.gaps[place].difference > 0 else LESS
        return OPEN


def score_joint(successes: dict[Place, dict[int, np.ndarray]], levels: list[list[float]]) -> JointScores:
    """Returns the scores of a grid: place to seed to the success of each episode; a failed cell is not among them.

    Example:
        >>> alone = {0: np.arange(20) < 16}
        >>> cells = {(0.0, 0.0): {0: np.ones(20)}, (1.0, 0.0): alone, (0.0, 1.0): alone, (1.0, 1.0): {0: np.zeros(20)}}
        >>> scores = score_joint(cells, [[0.0, 1.0], [0.0, 1.0]])
        >>> scores.verdict((1.0, 1.0)), round(scores.volume.measured, 2), round(scores.volume.promised, 2)
        ('less than promised', 0.65, 0.81)
    """
    grid, seeds = list(itertools.product(*levels)), _episodes_of_seeds(successes)
    table = np.array([_row(successes.get(place, {}), seeds) for place in grid])
    found = against_product(table.reshape(*map(len, levels), -1), generator(0, "perception_joint"))
    promised, difference = found.promised.ravel(), found.difference.ravel()
    replicates = found.replicates.reshape(-1, len(grid))
    gaps = {}
    for i, place in enumerate(grid):
        if np.isnan(table[i]).any():
            continue
        gap = Gap(float(table[i].mean()), rate_interval(successes[place]))
        is_joint = sum(level > 0 for level in place) > 1
        gaps[place] = _compared(gap, promised[i], difference[i], replicates[:, i]) if is_joint else gap
    known = [place for place, gap in gaps.items() if not math.isnan(gap.difference)]
    p_holm = dict(zip(known, holm([gaps[place].p for place in known]).tolist(), strict=True))
    volume = None
    if len(gaps) == len(grid):
        weights = _weights(levels)
        by_seed = np.split(weights @ table, np.cumsum(list(seeds.values()))[:-1])
        volume = Gap(float(np.mean(weights @ table)), Interval(*area_interval(dict(zip(seeds, by_seed, strict=True)))))
        volume = _compared(volume, weights @ promised, weights @ difference, replicates @ weights)
    return JointScores(levels, gaps, p_holm, volume, table.shape[1])


def _episodes_of_seeds(successes: dict[Place, dict[int, np.ndarray]]) -> dict[int, int]:
    """Returns how many episodes each seed has, the same in all cells."""
    counts: dict[int, int] = {}
    for place, seeds in successes.items():
        for seed, values in seeds.items():
            if counts.setdefault(seed, len(values)) != len(values):
                raise UserError(f"the cell at levels {place} has other episodes than others of seed {seed}")
    return dict(sorted(counts.items()))


def _row(cell: dict[int, np.ndarray], seeds: dict[int, int]) -> Array:
    """Returns the success of every episode of all seeds; nan for a cell that lacks a seed."""
    if not all(seed in cell for seed in seeds):
        return np.full(sum(seeds.values()), np.nan)
    return np.concatenate([np.asarray(cell[seed], dtype=np.float64) for seed in seeds])


def _weights(levels: list[list[float]]) -> Array:
    """Returns the weight of every cell in the volume, by the trapezoid rule."""
    single = [np.asarray(normalised_auc(line, np.eye(len(line)))) for line in levels]
    return np.ravel(functools.reduce(np.multiply.outer, single))


def _compared(gap: Gap, promised: Any, difference: Any, replicates: Array) -> Gap:
    """Returns a measured rate with what was promised; without a promise, the rate alone."""
    if math.isnan(difference):
        return gap
    if np.isnan(replicates).any():
        # A single episode shows no spread.
        return Gap(gap.measured, gap.bounds, float(promised), float(difference))
    bounds = cut(GAP, difference, *percentile_interval(replicates))
    p = bootstrap_test(replicates, "paired bootstrap").p_value
    return Gap(gap.measured, gap.bounds, float(promised), float(difference), bounds, p)
