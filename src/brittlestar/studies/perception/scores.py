"""The area under the curve of success over normalised levels (AUSC), with intervals."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from brittlestar.errors import UserError
from brittlestar.statistics.curves import normalised_auc
from brittlestar.statistics.intervals import Interval, at_least_wilson, t_interval, wilson

_ROUNDING = 1e-9
OVERALL = "overall"
"""The mean of all axes, as the name of an axis."""
METHODS = [
    "AUSC: the area under success over the level, 0 to 1, by the trapezoid rule. Its interval: Student's t over the "
    "areas of episodes, which are the same at every level; with several seeds over their means; at least Wilson's "
    "interval of as many episodes.",
    "Success at a level: Wilson's interval; with several seeds at least Student's t over their means.",
]


@dataclass(frozen=True)
class Area:
    """An area with its interval, the success without perturbation, and the level with the least."""

    value: float
    low: float
    high: float
    clean: float
    worst: float
    worst_level: float
    episodes: int
    points: list[tuple[float, float]]
    """Level and success."""
    bounds: list[Interval]
    """The interval of each point."""

    @property
    def retained(self) -> float:
        """The area in parts of the success without perturbation; nan if that is 0."""
        return self.value / self.clean if self.clean else float("nan")


@dataclass(frozen=True)
class PerceptionScores:
    """The areas of all axes, and their mean."""

    axes: dict[str, Area]
    mean: float
    low: float
    high: float
    episode_areas: dict[str, dict[int, np.ndarray]]
    """The area of every episode: by axis, the mean of all axes last, and by seed."""

    @property
    def ausc(self) -> dict[str, float]:
        """The area of each axis."""
        return {name: area.value for name, area in self.axes.items()}

    @property
    def overall(self) -> float:
        """The mean of the areas."""
        return self.mean

    @property
    def curve_points(self) -> dict[str, list[tuple[float, float]]]:
        """Level and success, by axis."""
        return {name: area.points for name, area in self.axes.items()}

    def as_dict(self) -> dict[str, Any]:
        """Returns what `perception.json` holds of one policy."""
        intervals = {name: [area.low, area.high] for name, area in self.axes.items()}
        worst = {name: [area.worst_level, area.worst] for name, area in self.axes.items()}
        return {
            "ausc": self.ausc,
            "overall": self.overall,
            "curve_points": {name: [list(point) for point in points] for name, points in self.curve_points.items()},
            "ausc_interval": intervals | {"overall": [self.low, self.high]},
            "worst": worst,
            "retained": {name: area.retained for name, area in self.axes.items()},
            "episodes": {name: area.episodes for name, area in self.axes.items()},
        }


def score(successes: dict[str, dict[float, dict[int, np.ndarray]]]) -> PerceptionScores:
    """Returns the areas of axes: axis to level to seed to the success of each episode.

    Example:
        >>> curve = {0.0: {0: np.ones(10)}, 1.0: {0: np.arange(10) < 5}}
        >>> scores = score({"light": curve})
        >>> scores.ausc, scores.overall
        ({'light': 0.75}, 0.75)
    """
    areas, per_episode = {}, {}
    for axis, curve in successes.items():
        table = _table(axis, curve)
        levels = list(table)
        seeds = list(table[levels[0]])
        parts = {seed: np.stack([table[level][seed] for level in levels]) for seed in seeds}
        per_episode[axis] = {s: np.asarray(normalised_auc(levels, rows.T)) for s, rows in parts.items()}
        rates = [float(np.mean(np.concatenate(list(table[level].values())))) for level in levels]
        low, high = area_interval(per_episode[axis])
        worst = int(np.argmin(rates))
        value, count = float(normalised_auc(levels, rates)), sum(rows.shape[1] for rows in parts.values())
        points, bounds = list(zip(levels, rates, strict=True)), [rate_interval(table[level]) for level in levels]
        areas[axis] = Area(value, low, high, rates[0], rates[worst], levels[worst], count, points, bounds)
    per_episode[OVERALL] = _mean_over_axes(per_episode)
    low, high = area_interval(per_episode[OVERALL])
    return PerceptionScores(areas, float(np.mean([area.value for area in areas.values()])), low, high, per_episode)


def _table(axis: str, curve: dict[float, dict[int, np.ndarray]]) -> dict[float, dict[int, np.ndarray]]:
    """Returns the levels in order; an area needs the same episodes at each of them."""
    if not curve:
        raise UserError(f"the axis `{axis}` has no finished cell")
    table = {level: {s: np.asarray(v, dtype=np.float64) for s, v in curve[level].items()} for level in sorted(curve)}
    shapes = {level: {seed: len(values) for seed, values in seeds.items()} for level, seeds in table.items()}
    first = next(iter(shapes.values()))
    for level, shape in shapes.items():
        if shape != first or not all(shape.values()):
            raise UserError(f"the axis `{axis}` has other seeds or episodes at level {level:g} than at the first one")
        if any(np.isnan(values).any() for values in table[level].values()):
            raise UserError(f"the axis `{axis}` has episodes without a success at level {level:g}: set `env.success`")
    return table


def _mean_over_axes(per_episode: dict[str, dict[int, np.ndarray]]) -> dict[int, np.ndarray]:
    first, *others = per_episode.values()
    if any({s: len(v) for s, v in other.items()} != {s: len(v) for s, v in first.items()} for other in others):
        raise UserError("the axes have other seeds or episodes than each other")
    return {seed: np.mean([areas[seed] for areas in per_episode.values()], axis=0) for seed in first}


def rate_interval(successes: dict[int, np.ndarray]) -> Interval:
    """Returns the interval of a success rate, from the success of each episode by seed.

    Example:
        >>> np.round(rate_interval({0: np.ones(10)}), 2).tolist()
        [0.72, 1.0]
    """
    every, means = np.concatenate(list(successes.values())), [values.mean() for values in successes.values()]
    return at_least_wilson(*t_interval(means), every.sum(), len(every))


def area_interval(areas: dict[int, np.ndarray]) -> tuple[float, float]:
    """Returns the interval of the mean of areas, from that of each episode by seed."""
    every = np.concatenate(list(areas.values()))
    means = [values.mean() for values in areas.values()]
    low, high = t_interval(means if len(means) > 1 else every)
    # An area counts a part of an episode: the whole numbers around it, without errors of rounding.
    total, count = float(every.sum()), len(every)
    few, many = wilson(math.floor(total + _ROUNDING), count), wilson(math.ceil(total - _ROUNDING), count)
    return max(0.0, float(np.fmin(low, few.low))), min(1.0, float(np.fmax(high, many.high)))
