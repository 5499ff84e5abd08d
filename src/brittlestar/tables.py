"""The aggregate step: cells in, tidy tables out, one curve at a time."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from brittlestar import curves, stats
from brittlestar.cells import Cell, Grouping, group, sort_key
from brittlestar.errors import UserError
from brittlestar.randomness import generator

RESAMPLES = 2000
LEVEL = 0.95
THRESHOLD = 0.5
RATES = ("success_any", "success_final")
ROW_KEYS = ("episode", "reset_seed", "phase")

Row = dict[str, Any]


class Curve:
    """All cells of one label, as an array `(strengths, seeds, episodes, metrics)`; nan where there is none."""

    def __init__(self, label: Row, cells: list[Cell]) -> None:
        self.label, self.cells = label, cells
        self.strengths = sorted({cell.strength for cell in cells})
        self.seeds = sorted({cell.seed for cell in cells})
        self.strength_name = min((cell.strength_name for cell in cells if cell.strength_name), default=None)
        columns: list[str] = cells[0].manifest["columns"]
        kept = [i for i, name in enumerate(columns) if name not in ROW_KEYS]
        self.metrics = [columns[i] for i in kept]
        rows = {(cell.strength, cell.seed): cell.rows()[:, kept] for cell in cells}
        if len(rows) < len(cells):
            raise UserError(f"two different cells stand at the same strength and seed of {label}: aggregate apart")
        longest = max(len(values) for values in rows.values())
        self.data = np.full((len(self.strengths), len(self.seeds), longest, len(kept)), np.nan)
        for (strength, seed), values in rows.items():
            self.data[self.strengths.index(strength), self.seeds.index(seed), : len(values)] = values
        self.measures = self._measures(cells[0].manifest["measure"])

    def values(self, metric: str) -> np.ndarray:
        """Returns one metric, `(strengths, seeds, episodes)`."""
        return self.data[..., self.metrics.index(metric)]

    @functools.cached_property
    def seed_means(self) -> np.ndarray:
        """Mean over episodes, `(strengths, seeds, metrics)`."""
        return _mean(self.data, axis=2)

    @functools.cached_property
    def replicates(self) -> np.ndarray:
        """Bootstrap means of the measures, `(resamples, measures, strengths)`, paired along the curve."""
        stack = np.stack([self.values(name) for name in self.measures])
        # Always the same draws: the same cells give the same table.
        return stats.cluster_resample_means(stack, generator(0, "bootstrap"), RESAMPLES)

    def _measures(self, measure: str) -> list[str]:
        """Both success rates where steps tell them apart, else the one score that the environment has."""
        per_step = np.isfinite(self.values("dwell")).any()
        return list(RATES) if measure in RATES and per_step else [measure]


@dataclass
class Tables:
    """The tables of a sweep, as lists of rows; `episodes` comes in pieces, because it can be long."""

    cells: list[Row]
    curve: list[Row]
    summary: list[Row]
    failures: list[Row]
    finished: list[Cell]
    grouping: Grouping

    def episodes(self) -> Iterator[tuple[Row, Cell]]:
        """Yields the label of every finished cell, with the cell."""
        for cell, label in zip(self.finished, self.grouping.labels, strict=True):
            yield dict(zip(self.grouping.columns, label, strict=True)) | _place(cell), cell


def aggregate(cells: list[Cell]) -> Tables:
    """Groups cells into curves and computes every table; holds the rows of one curve at a time."""
    grouping = group(cells)
    order = sorted(range(len(cells)), key=lambda i: (sort_key(grouping.labels[i]), cells[i].strength, cells[i].seed))
    curves: dict[tuple, list[Cell]] = {}
    failures = []
    for i in order:
        if cells[i].done:
            curves.setdefault(grouping.labels[i], []).append(cells[i])
        else:
            failures.append(_failure_row(grouping.label(i), cells[i]))
    labels = [label for label, members in curves.items() for _ in members]
    finished = [cell for members in curves.values() for cell in members]
    tables = Tables([], [], [], failures, finished, Grouping(grouping.columns, labels))
    for label, members in curves.items():
        curve = Curve(dict(zip(grouping.columns, label, strict=True)), members)
        tables.cells += _cell_rows(curve)
        tables.curve += _curve_rows(curve)
        tables.summary += [_summary_row(curve, i) for i in range(len(curve.measures))]
    return tables


def _place(cell: Cell) -> Row:
    return {"strength_name": cell.strength_name, "strength": cell.strength, "seed": cell.seed}


def _failure_row(label: Row, cell: Cell) -> Row:
    asked = " ".join(cell.manifest.get("overrides", []))
    return label | _place(cell) | {"error": cell.manifest["error"], "overrides": asked}


def _cell_rows(curve: Curve) -> list[Row]:
    counts = np.isfinite(curve.values("length")).sum(axis=2)
    rows = []
    for cell in curve.cells:
        place = curve.strengths.index(cell.strength), curve.seeds.index(cell.seed)
        row = curve.label | _place(cell) | {"cell": cell.manifest["cell"], "episodes": int(counts[place])}
        rows.append(row | dict(zip(curve.metrics, curve.seed_means[place].tolist(), strict=True)))
    return rows


def _curve_rows(curve: Curve) -> list[Row]:
    lengths, successes = curve.values("length"), curve.values("time_to_success")
    seeds = np.isfinite(lengths).any(axis=2).sum(axis=1)
    episodes = np.isfinite(lengths).sum(axis=(1, 2))
    columns = _metric_columns(curve, seeds)
    for i in range(len(curve.measures)):
        columns |= _measure_columns(curve, i, columns, seeds, episodes)
    rows = []
    for i, strength in enumerate(curve.strengths):
        row = curve.label | {"strength_name": curve.strength_name, "strength": strength}
        row |= {"n_seeds": int(seeds[i]), "n_episodes": int(episodes[i])}
        row |= {name: values[i] for name, values in columns.items()}
        row["metric_interval"] = _t_name(int(seeds[i]), int(episodes[i]))
        row["time_to_success_n"] = int(np.isfinite(successes[i]).sum())
        rows.append(row)
    return rows


def _metric_columns(curve: Curve, seeds: np.ndarray) -> dict[str, list[float]]:
    """Mean, standard deviation over seeds and t interval of every metric at every strength."""
    by_seed = curve.seed_means
    mean, spread, n = _mean(by_seed, axis=1), _std(by_seed, axis=1), np.isfinite(by_seed).sum(axis=1)
    flat = curve.data.reshape(len(by_seed), -1, len(curve.metrics))
    # One seed says nothing about seeds: its interval is over episodes.
    single = (seeds == 1)[:, None]
    error = np.where(single, _std(flat, axis=1), spread)
    half = stats.t_half_width(error, np.where(single, np.isfinite(flat).sum(axis=1), n), LEVEL)
    columns: dict[str, list[float]] = {}
    for i, name in enumerate(curve.metrics):
        columns[name] = mean[:, i].tolist()
        columns[f"{name}_std"] = spread[:, i].tolist()
        columns[f"{name}_low"] = (mean - half)[:, i].tolist()
        columns[f"{name}_high"] = (mean + half)[:, i].tolist()
    return columns


def _measure_columns(
    curve: Curve, index: int, columns: dict[str, list], seeds: np.ndarray, episodes: np.ndarray
) -> dict[str, list]:
    """More intervals for the headline measures, and the name of the one that counts."""
    name = curve.measures[index]
    boot = stats.percentile_interval(curve.replicates[:, index], "cluster bootstrap", len(curve.seeds), LEVEL)
    added = {
        f"{name}_bootstrap_low": np.asarray(boot.low).tolist(),
        f"{name}_bootstrap_high": np.asarray(boot.high).tolist(),
    }
    if name not in RATES:
        return added | {f"{name}_method": [_t_name(*n) for n in zip(seeds.tolist(), episodes.tolist(), strict=True)]}
    wilson = stats.wilson(np.nansum(curve.values(name), axis=(1, 2)), episodes, LEVEL)
    added |= {
        f"{name}_wilson_low": np.asarray(wilson.low).tolist(),
        f"{name}_wilson_high": np.asarray(wilson.high).tolist(),
    }
    return added | _rate_interval(name, columns, wilson, seeds, episodes)


def _rate_interval(
    name: str, columns: dict[str, list], wilson: stats.Interval, seeds: np.ndarray, episodes: np.ndarray
) -> dict[str, list]:
    """One seed: Wilson over episodes. Several: t over seeds, but never narrower than Wilson.

    The t interval knows that seeds differ, but has no width when all of them agree; Wilson knows how
    little n episodes can tell, but takes all of them for independent.
    """
    one = seeds == 1
    low = np.where(one, wilson.low, np.fmin(columns[f"{name}_low"], wilson.low))
    high = np.where(one, wilson.high, np.fmax(columns[f"{name}_high"], wilson.high))
    methods = [
        f"Wilson, n = {n}, 95 %" if k == 1 else f"t over {k} seeds, at least Wilson, n = {n}, 95 %"
        for k, n in zip(seeds.tolist(), episodes.tolist(), strict=True)
    ]
    return {
        f"{name}_t_low": columns[f"{name}_low"],
        f"{name}_t_high": columns[f"{name}_high"],
        f"{name}_low": np.clip(low, 0, 1).tolist(),
        f"{name}_high": np.clip(high, 0, 1).tolist(),
        f"{name}_method": methods,
    }


def _summary_row(curve: Curve, index: int) -> Row:
    measure, levels = curve.measures[index], np.array(curve.strengths)
    means = _mean(curve.seed_means[:, :, curve.metrics.index(measure)], axis=1)
    boot = curve.replicates[:, index]
    threshold = THRESHOLD if measure != "return" else float("nan")
    row = curve.label | {
        "strength_name": curve.strength_name,
        "measure": measure,
        "baseline_strength": float(levels[0]),
        "baseline": float(means[0]),
        "threshold": threshold,
        "incapable": bool(means[0] < threshold),
        "critical": float(curves.critical_level(levels, means, threshold)),
    }
    crossing = functools.partial(curves.critical_level_interpolated, threshold=threshold)
    row |= _with_interval("critical_interpolated", crossing, levels, means, boot)
    for function in (curves.slope, curves.auc, curves.normalised_auc):
        row |= _with_interval(function.__name__, function, levels, means, boot)
    row |= {"worst_strength": float(levels[np.nanargmin(means)]), "worst": float(np.nanmin(means))}
    row["solved_at_reset"] = float(_mean(curve.values("solved_at_reset").ravel(), axis=0))
    drawn = f"{len(curve.seeds)} seeds, then episodes" if len(curve.seeds) > 1 else "episodes of 1 seed"
    return row | {"interval_method": f"percentile bootstrap, {RESAMPLES} draws of {drawn}, 95 %"}


def _with_interval(
    name: str, function: Callable, levels: np.ndarray, means: np.ndarray, boot: np.ndarray
) -> dict[str, float]:
    value, replicates = float(function(levels, means)), np.atleast_1d(function(levels, boot))
    if name.startswith("critical"):
        # A curve that never crosses has its critical strength somewhere beyond the sweep.
        replicates = np.where(np.isnan(replicates), np.inf, replicates)
    interval = stats.percentile_interval(replicates, "bootstrap", len(boot), LEVEL)
    return {name: value, f"{name}_low": float(interval.low), f"{name}_high": float(interval.high)}


def _t_name(seeds: int, episodes: int) -> str:
    return f"t over {seeds} seeds, 95 %" if seeds > 1 else f"t over {episodes} episodes, 95 %"


def _mean(values: np.ndarray, axis: int) -> np.ndarray:
    known = np.isfinite(values)
    with np.errstate(invalid="ignore"):
        return np.where(known, values, 0.0).sum(axis=axis) / known.sum(axis=axis)


def _std(values: np.ndarray, axis: int) -> np.ndarray:
    known = np.isfinite(values)
    squares = np.where(known, values - np.expand_dims(_mean(values, axis), axis), 0.0) ** 2
    n = known.sum(axis=axis)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.sqrt(np.where(n > 1, squares.sum(axis=axis) / (n - 1), np.nan))
