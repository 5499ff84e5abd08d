"""The aggregate step: cells in, tidy tables out, one curve at a time."""

import itertools
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from brittlestar.errors import UserError
from brittlestar.policies.base import RecordedReturn
from brittlestar.results.baseline_check import BaselineCheck, check_baseline, likely_cause, other_limit
from brittlestar.results.cell_table import CellTable, CurveCells
from brittlestar.results.curve import Curve
from brittlestar.results.curve_intervals import (
    CurveIntervals,
    curve_intervals,
    interval_method,
    metric_method,
    point_method,
    threshold_of,
)
from brittlestar.results.failures import failure_row
from brittlestar.results.grouping import Grouping, group, ranks_of, sort_key
from brittlestar.results.load import RATES, Cell, Row
from brittlestar.results.metric_intervals import MetricIntervals, metric_intervals
from brittlestar.results.packed_cells import PackedCells, pack_cells
from brittlestar.results.servers import latency_columns, repeatable_column
from brittlestar.statistics.arrays import moments
from brittlestar.statistics.curves import critical_level, critical_level_interpolated, crossing_bracket
from brittlestar.statistics.intervals import Interval

_DISTURBING = ("perturbation", "mitigation", "stress_schedule", "direction")
"""Columns of a label that do not concern the policy."""


@dataclass
class Tables:
    """The tables of a sweep, as rows; `episodes` comes in pieces, because it can be long."""

    cells: CellTable
    curve: list[Row]
    summary: list[Row]
    failures: list[Row]
    finished: PackedCells
    grouping: Grouping
    baseline_checks: list[tuple[Row, BaselineCheck]]
    """The check of every policy that has a recorded return, with the label of its curves; None where they differ."""

    def members(self) -> dict[tuple, PackedCells]:
        """Returns the finished cells of each curve by its label, in the order of the tables."""
        places = dict[tuple, array]()
        for place, label in enumerate(self.grouping.labels):
            places.setdefault(label, array("q")).append(place)
        return {label: self.finished.choose(chosen) for label, chosen in places.items()}

    def episodes(self) -> Iterator[tuple[Row, Cell]]:
        """Yields the label of every finished cell, with the cell."""
        for i, cell in enumerate(self.finished):
            yield self.grouping.label(i) | cell.place, cell


def aggregate(cells: Iterable[Cell]) -> Tables:
    """Groups cells into curves and computes every table; holds the rows of one curve at a time."""
    cells = split_cells(cells)
    grouping = group(cells)
    members, failures = _members(cells, grouping)
    finished = cells.choose(np.concatenate([[], *members.values()]))
    if len({tuple(cell.manifest["columns"]) for cell in finished.kinds()}) > 1:
        raise UserError("cells of two versions of brittlestar have different columns: aggregate them apart")
    labels = [label for label, places in members.items() for _ in places]
    tables = Tables(CellTable(), [], [], failures, finished, Grouping(grouping.columns, labels), [])
    ends = np.cumsum([len(places) for places in members.values()]).tolist()
    parts = (finished[start:end] for start, end in itertools.pairwise([0, *ends]))
    rows = (dict(zip(grouping.columns, label, strict=True)) for label in members)
    curves = (Curve(row, part) for row, part in zip(rows, parts, strict=True))
    for curve, intervals in curve_intervals(curves):
        _add(tables, curve, intervals)
    tables.baseline_checks = _once_per_policy(tables.baseline_checks)
    return tables


def _members(cells: PackedCells, grouping: Grouping) -> tuple[dict[tuple, array], list[Row]]:
    """Returns the places of the finished cells of each curve, and the rows of the others."""
    members, failures = dict[tuple, array](), list[Row]()
    is_done = [cell.done for cell in cells.kinds()]
    kinds = cells.firsts()[1]
    for i in _order(cells, grouping):
        if is_done[kinds[i]]:
            members.setdefault(grouping.labels[i], array("q")).append(i)
        else:
            failures.append(failure_row(grouping.label(i), cells[i]))
    return members, failures


def split_cells(cells: Iterable[Cell]) -> PackedCells:
    """Returns cells with each phase of a stress schedule, and each direction of a sweep through 0, as its own cell."""
    parts = pack_cells(cells).split(Cell.by_phase)
    strengths = {cell.strength for cell in parts.kinds()}
    if all(strength >= 0 for strength in strengths):
        return parts
    upwards = any(strength > 0 for strength in strengths)
    return parts.split(Cell.by_direction).where(lambda side: upwards or side.direction != "up")


def _add(tables: Tables, curve: Curve, intervals: CurveIntervals) -> None:
    record = curve.cells[0].manifest.get("record")
    check = _baseline_check(curve, RecordedReturn(**record)) if record else None
    column = {} if not record else {"baseline_check": check.status if check else "no clean cell"}
    column |= repeatable_column(curve.cells)
    tables.cells.pieces.append(CurveCells(curve, column, latency_columns(curve.cells)))
    metrics = metric_intervals(curve)
    tables.curve += [row | column for row in _curve_rows(curve, metrics, intervals)]
    tables.summary += [row | column for row in _summary_rows(curve, metrics, intervals)]
    tables.baseline_checks += [(curve.label, check)] if check else []


def _baseline_check(curve: Curve, recorded: RecordedReturn) -> BaselineCheck | None:
    """Compares the recorded return with all clean episodes of a curve."""
    clean = curve.cells.where(lambda cell: cell.strength == 0)
    if not clean:
        return None
    returns = np.concatenate([cell.column("return") for cell in clean])
    return check_baseline(recorded, returns, other_limit(clean[0].manifest), likely_cause(clean[0].config))


def _once_per_policy(checks: list[tuple[Row, BaselineCheck]]) -> list[tuple[Row, BaselineCheck]]:
    """Joins equal checks of curves that differ in what disturbs the policy: their clean episodes are the same."""
    joined: dict[tuple, Row] = {}
    for label, check in checks:
        key = tuple(v for c, v in label.items() if c.partition(".")[0] not in _DISTURBING), check
        joined[key] = {c: v if v == label[c] else None for c, v in joined.get(key, label).items()}
    return [(label, check) for (_, check), label in joined.items()]


def _order(cells: PackedCells, grouping: Grouping) -> Iterator[int]:
    """Yields the places of cells by label, strength and seed, so that the tables do not depend on their order."""
    firsts, numbers = cells.firsts()
    kinds = [*cells.choose(firsts)]
    phases = list(dict.fromkeys(phase for cell in kinds for phase in cell.manifest.get("phases", ())))

    def in_time(label: tuple) -> list:
        # Phases sort as they follow each other.
        pairs = zip(grouping.columns, label, strict=True)
        return [phases.index(v) if c == "phase" and v in phases else v for c, v in pairs]

    def overrides(i: int) -> list[str]:
        return cells[i].manifest.get("overrides", [])

    keys = [(sort_key(in_time(grouping.labels[i])), abs(cell.strength)) for i, cell in zip(firsts, kinds, strict=True)]
    ranks = ranks_of(keys)[numbers]
    places = np.argsort(ranks, kind="stable")
    for same_level in np.split(places, np.flatnonzero(np.diff(ranks[places])) + 1):
        seeds = {i: cells[i].seed for i in same_level.tolist()}
        for _, same in itertools.groupby(sorted(seeds, key=seeds.__getitem__), seeds.__getitem__):
            # Only few cells have the same place, and overrides take long to read.
            first, *others = same
            yield from sorted([first, *others], key=overrides) if others else [first]


def _curve_rows(curve: Curve, metrics: MetricIntervals, intervals: CurveIntervals) -> list[Row]:
    seeds, episodes = (curve.episodes > 0).sum(axis=1).tolist(), curve.episodes.sum(axis=1).tolist()
    pairs = list(zip(seeds, episodes, strict=True))
    columns = {
        "strength": curve.strengths,
        "n_seeds": seeds,
        "n_episodes": episodes,
        **_metric_columns(curve, metrics),
        "metric_interval": [metric_method(k, n) for k, n in pairs],
        "instability": metrics.std[:, curve.metrics.index("return")].tolist(),
        "time_to_success_n": curve.of(curve.count, "time_to_success").sum(axis=1).tolist(),
    }
    for i, name in enumerate(curve.measures):
        columns[f"{name}_bootstrap_low"] = intervals.low[i].tolist()
        columns[f"{name}_bootstrap_high"] = intervals.high[i].tolist()
        columns |= _rate_columns(curve, name, metrics) if name in RATES else {}
        columns[f"{name}_method"] = [point_method(name, k, n) for k, n in pairs]
    start = curve.label | {"strength_name": curve.strength_name}
    return [start | dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def _metric_columns(curve: Curve, metrics: MetricIntervals) -> dict[str, list[float]]:
    """Mean, standard deviation over seeds and interval of every metric at every strength."""
    low, high = map(np.asarray, metrics.interval)
    columns: dict[str, list[float]] = {}
    for i, name in enumerate(curve.metrics):
        for suffix, values in (("", metrics.mean), ("_std", metrics.std), ("_low", low), ("_high", high)):
            columns[name + suffix] = values[:, i].tolist()
    return columns


def _rate_columns(curve: Curve, name: str, metrics: MetricIntervals) -> dict[str, list]:
    """The two intervals behind that of a success rate."""
    kinds, place = {"wilson": metrics.wilson, "t": metrics.t}, curve.metrics.index(name)
    return {
        f"{name}_{kind}_{end}": np.asarray(bound)[:, place].tolist()
        for kind, interval in kinds.items()
        for end, bound in zip(("low", "high"), interval, strict=True)
    }


def _summary_rows(curve: Curve, metrics: MetricIntervals, intervals: CurveIntervals) -> list[Row]:
    threshold = threshold_of(curve)
    rows = []
    for i, measure in enumerate(curve.measures):
        _, means, _ = moments(curve.of(curve.mean, measure), axis=1)
        row = curve.label | {"strength_name": curve.strength_name, "measure": measure}
        row |= _baseline_columns(curve, float(means[0]), threshold)
        row |= _crossing(curve, metrics, measure)
        row |= {name: float(values[i]) for name, values in intervals.shape.items()}
        row |= {"worst_strength": curve.strengths[int(means.argmin())], "worst": float(means.min())}
        rows.append(row | {"solved_at_reset": _solved_at_reset(curve), "interval_method": interval_method(curve)})
    return rows


def _crossing(curve: Curve, metrics: MetricIntervals, measure: str) -> Row:
    """Where a curve breaks: on the grid, on straight lines between its points, and between which levels surely."""
    levels, threshold, place = np.abs(curve.strengths), threshold_of(curve), curve.metrics.index(measure)
    means, low, high = (np.asarray(values)[:, place] for values in (metrics.mean, *metrics.interval))
    # One strength is not a curve, and a raw return has no threshold.
    is_crossed = len(levels) > 1 and not np.isnan(threshold)
    bracket = crossing_bracket(levels, low, high, threshold) if is_crossed else Interval(np.nan, np.nan)
    interpolated = float(critical_level_interpolated(levels, means, threshold))
    columns = {"critical": float(critical_level(levels, means, threshold)), "critical_interpolated": interpolated}
    return columns | {f"critical_interpolated_{end}": float(v) for end, v in bracket._asdict().items()}


def _baseline_columns(curve: Curve, first: float, threshold: float) -> Row:
    """The baseline, which only strength 0 is, and whether it is too low, where there is a threshold."""
    columns: Row = {"baseline_strength": curve.strengths[0], "baseline": first} if curve.strengths[0] == 0 else {}
    columns["threshold"] = threshold
    return columns | ({"incapable": first < threshold} if "baseline" in columns and threshold == threshold else {})


def _solved_at_reset(curve: Curve) -> float:
    share, count = (curve.of(values, "solved_at_reset") for values in (curve.mean, curve.count))
    return float(np.nansum(share * count) / count.sum()) if count.any() else float("nan")
