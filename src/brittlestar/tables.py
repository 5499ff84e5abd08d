"""The aggregate step: cells in, tidy tables out, one curve at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from brittlestar import stats
from brittlestar.cells import Cell, Grouping, group, sort_key
from brittlestar.randomness import generator

RESAMPLES = 2000
LEVEL = 0.95
THRESHOLD = 0.5
RATES = ("success_any", "success_final")
ROW_KEYS = ("episode", "reset_seed", "phase")

Row = dict[str, Any]


@dataclass
class Curve:
    """All cells of one label, as `(strengths, seeds)` of episode rows; a cell that failed leaves a hole."""

    label: Row
    cells: list[Cell]
    strengths: list[float] = field(init=False)
    seeds: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self.strengths = sorted({cell.strength for cell in self.cells})
        self.seeds = sorted({cell.seed for cell in self.cells})
        self.columns: list[str] = self.cells[0].manifest["columns"]
        self.measure: str = self.cells[0].manifest["measure"]
        self._rows = {(cell.strength, cell.seed): cell.rows() for cell in self.cells}

    def cube(self, column: str) -> np.ndarray:
        """Returns a column as `(strengths, seeds, episodes)`, nan where there is no such episode."""
        index = self.columns.index(column)
        longest = max(len(rows) for rows in self._rows.values())
        cube = np.full((len(self.strengths), len(self.seeds), longest), np.nan)
        for i, strength in enumerate(self.strengths):
            for j, seed in enumerate(self.seeds):
                rows = self._rows.get((strength, seed))
                if rows is not None:
                    cube[i, j, : len(rows)] = rows[:, index]
        return cube

    def measures(self) -> list[str]:
        """Returns what the curve shows: both success rates where steps tell them apart, else the one score."""
        per_step = np.isfinite(self.cube("dwell")).any()
        return list(RATES) if self.measure in RATES and per_step else [self.measure]

    def metrics(self) -> list[str]:
        """Returns every column that is a metric."""
        return [name for name in self.columns if name not in ROW_KEYS]


@dataclass
class Tables:
    """The tables of a sweep, as lists of rows; `episodes` comes in pieces, because it can be long."""

    cells: list[Row]
    curve: list[Row]
    summary: list[Row]
    failures: list[Row]
    finished: list[Cell]
    grouping: Grouping

    def episodes(self) -> Iterator[tuple[Row, list[str], list[str], np.ndarray]]:
        """Yields, cell by cell: the label, the columns, the phase names, the rows."""
        for cell, label in zip(self.finished, self.grouping.labels, strict=True):
            keys = dict(zip(self.grouping.columns, label, strict=True)) | _place(cell)
            yield keys, cell.manifest["columns"], cell.manifest["phases"], cell.rows()


def aggregate(cells: list[Cell]) -> Tables:
    """Groups cells into curves and computes every table; holds the rows of one curve at a time."""
    grouping = group(cells)
    order = sorted(range(len(cells)), key=lambda i: (sort_key(grouping.labels[i]), cells[i].strength, cells[i].seed))
    labelled = [(cells[i], grouping.labels[i]) for i in order]
    done = [(cell, label) for cell, label in labelled if cell.done]
    failed = [(cell, label) for cell, label in labelled if not cell.done]
    tables = Tables([], [], [], [], [cell for cell, _ in done], Grouping(grouping.columns, [lab for _, lab in done]))
    for label in dict.fromkeys(label for _, label in done):
        members = [cell for cell, its in done if its == label]
        curve = Curve(dict(zip(grouping.columns, label, strict=True)), members)
        _refuse_twins(curve)
        tables.cells += [_cell_row(curve, cell) for cell in members]
        tables.curve += _curve_rows(curve)
        tables.summary += _summary_rows(curve)
    tables.failures = [_failure_row(dict(zip(grouping.columns, label, strict=True)), cell) for cell, label in failed]
    return tables


def _place(cell: Cell) -> Row:
    return {"strength_name": cell.strength_name, "strength": cell.strength, "seed": cell.seed}


def _refuse_twins(curve: Curve) -> None:
    if len(curve.cells) > len({(cell.strength, cell.seed) for cell in curve.cells}):
        from brittlestar.errors import UserError

        raise UserError(f"two different cells stand at the same strength and seed of {curve.label}: aggregate apart")


def _cell_row(curve: Curve, cell: Cell) -> Row:
    rows = cell.rows()
    means = {
        name: _mean(rows[:, curve.columns.index(name)]) for name in curve.metrics()
    }
    return curve.label | _place(cell) | {"cell": cell.manifest["cell"], "episodes": len(rows)} | means


def _failure_row(label: Row, cell: Cell) -> Row:
    asked = " ".join(cell.manifest.get("overrides", []))
    return label | _place(cell) | {"error": cell.manifest["error"], "overrides": asked}


def _curve_rows(curve: Curve) -> list[Row]:
    cubes = {name: curve.cube(name) for name in curve.metrics()}
    length = cubes["length"]
    rows: list[Row] = []
    names = {cell.strength_name for cell in curve.cells} - {None}
    for i, strength in enumerate(curve.strengths):
        present = [j for j in range(len(curve.seeds)) if np.isfinite(length[i, j]).any()]
        row = curve.label | {"strength_name": min(names, default=None), "strength": strength}
        row |= {"n_seeds": len(present), "n_episodes": int(np.isfinite(length[i]).sum())}
        for name in curve.measures():
            row |= _measure(name, cubes[name][i, present])
        row["metric_interval"] = _interval_name(len(present), row["n_episodes"])
        for name in curve.metrics():
            if name not in curve.measures():
                row |= _metric(name, cubes[name][i, present])
        row["time_to_success_n"] = int(np.isfinite(cubes["time_to_success"][i]).sum())
        rows.append(row)
    return rows


def _measure(name: str, values: np.ndarray) -> Row:
    """Headline numbers of a curve point; `values` is `(seeds, episodes)`."""
    row = _metric(name, values)
    if np.isnan(row[name]):
        return row
    # Keyed by nothing but its place, so that the same cells always give the same table.
    boot = stats.cluster_resample_means(values, generator(0, "bootstrap"), RESAMPLES)
    row |= _bounds(f"{name}_bootstrap", *np.nanpercentile(boot, _percentiles()))
    row[f"{name}_method"] = f"{_interval_name(*values.shape)}"
    if name in RATES:
        n, successes = int(np.isfinite(values).sum()), float(np.nansum(values))
        wilson = stats.wilson(successes, n, LEVEL)
        row |= _bounds(f"{name}_wilson", wilson.low, wilson.high)
        row |= _rate_interval(name, row, wilson, len(values), n)
    return row


def _rate_interval(name: str, row: Row, wilson: stats.Interval, seeds: int, n: int) -> Row:
    """One seed: Wilson over episodes. Several: t over seeds, never narrower than Wilson.

    The t interval knows that seeds differ, but has no width when all of them agree; Wilson knows how
    little n episodes can tell, but takes all of them for independent.
    """
    if seeds == 1:
        return _bounds(name, wilson.low, wilson.high) | {f"{name}_method": f"Wilson 95 %, n = {n}"}
    low, high = min(row[f"{name}_low"], wilson.low), max(row[f"{name}_high"], wilson.high)
    method = f"t over {seeds} seeds, at least Wilson, 95 %, n = {n}"
    return _bounds(name, max(low, 0.0), min(high, 1.0)) | {f"{name}_method": method}


def _metric(name: str, values: np.ndarray) -> Row:
    by_seed = np.array([_mean(seed) for seed in values])
    by_seed = by_seed[np.isfinite(by_seed)]
    single = values[np.isfinite(values)] if len(by_seed) == 1 else by_seed
    interval = stats.t_interval(single, LEVEL) if len(single) > 1 else None
    return {
        name: float(by_seed.mean()) if len(by_seed) else np.nan,
        f"{name}_std": float(by_seed.std(ddof=1)) if len(by_seed) > 1 else np.nan,
        f"{name}_low": interval.low if interval else np.nan,
        f"{name}_high": interval.high if interval else np.nan,
    }


def _summary_rows(curve: Curve) -> list[Row]:
    return [_summary(curve, name) for name in curve.measures()]


def _summary(curve: Curve, measure: str) -> Row:
    levels, cube = np.array(curve.strengths), curve.cube(measure)
    means = np.array([_mean(np.array([_mean(seed) for seed in level])) for level in cube])
    boot = stats.cluster_resample_means(cube, generator(0, "bootstrap"), RESAMPLES)
    threshold = THRESHOLD if measure != "return" else np.nan
    row = curve.label | {
        "measure": measure,
        "baseline_strength": levels[0],
        "baseline": means[0],
        "threshold": threshold,
        "incapable": bool(means[0] < threshold),
        "critical": float(stats.critical_level(levels, means, threshold)),
    }
    row |= _with_interval("critical_interpolated", stats.critical_level_interpolated, levels, means, boot, threshold)
    row |= _with_interval("slope", stats.slope, levels, means, boot)
    row |= _with_interval("auc", stats.auc, levels, means, boot)
    row |= _with_interval("normalised_auc", stats.normalised_auc, levels, means, boot)
    row |= {"worst_strength": levels[int(np.nanargmin(means))], "worst": float(np.nanmin(means))}
    if measure in RATES:
        row["solved_at_reset"] = _mean(curve.cube("solved_at_reset"))
    row["interval"] = (
        f"95 % percentile bootstrap, {RESAMPLES} resamples of {len(curve.seeds)} seeds, then episodes"
    )
    return row


def _with_interval(
    name: str, function: Any, levels: np.ndarray, means: np.ndarray, boot: np.ndarray, *arguments: float
) -> Row:
    replicates = np.atleast_1d(function(levels, boot, *arguments))
    value = float(function(levels, means, *arguments))
    if name.startswith("critical"):
        # A curve that never crosses has its critical level beyond the sweep.
        replicates = np.where(np.isnan(replicates), np.inf, replicates)
        if np.isnan(arguments[0]):
            return {name: value} | _bounds(name, np.nan, np.nan)
        return {name: value} | _bounds(name, *np.percentile(replicates, _percentiles(), method="nearest"))
    if np.isnan(value):
        return {name: value} | _bounds(name, np.nan, np.nan)
    return {name: value} | _bounds(name, *np.nanpercentile(replicates, _percentiles()))


def _bounds(name: str, low: float, high: float) -> Row:
    return {f"{name}_low": float(low), f"{name}_high": float(high)}


def _percentiles() -> tuple[float, float]:
    return 50 * (1 - LEVEL), 50 * (1 + LEVEL)


def _interval_name(seeds: int, episodes: int) -> str:
    return f"t over {seeds} seeds, 95 %" if seeds > 1 else f"t over {episodes} episodes, 95 %"


def _mean(values: np.ndarray) -> float:
    finite = values[np.isfinite(values)]
    return float(finite.mean()) if len(finite) else float("nan")
