"""The aggregate step: cells in, tidy tables out, one curve at a time."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from brittlestar.errors import UserError
from brittlestar.policies.base import RecordedReturn
from brittlestar.results.baseline_check import BaselineCheck, check_baseline, other_limit
from brittlestar.results.curve import Curve
from brittlestar.results.curve_intervals import CurveIntervals, curve_intervals, interval_method, threshold_of
from brittlestar.results.failures import failure_row
from brittlestar.results.grouping import Grouping, group, sort_key
from brittlestar.results.load import RATES, Cell, Row, hold_rows
from brittlestar.statistics.arrays import moments
from brittlestar.statistics.curves import critical_level
from brittlestar.statistics.intervals import at_least_wilson, t_half_width, wilson

_DISTURBING = ("perturbation", "mitigation", "stress_schedule", "direction")
"""Columns of a label that do not concern the policy."""


@dataclass
class Tables:
    """The tables of a sweep, as lists of rows; `episodes` comes in pieces, because it can be long."""

    cells: list[Row]
    curve: list[Row]
    summary: list[Row]
    failures: list[Row]
    finished: list[Cell]
    grouping: Grouping
    baseline_checks: list[tuple[Row, BaselineCheck]]
    """The check of every policy that has a recorded return, with the label of its curves; None where they differ."""

    def episodes(self) -> Iterator[tuple[Row, Cell]]:
        """Yields the label of every finished cell, with the cell."""
        for i, cell in enumerate(self.finished):
            yield self.grouping.label(i) | cell.place, cell


def aggregate(cells: list[Cell]) -> Tables:
    """Groups cells into curves and computes every table; holds the rows of one curve at a time."""
    cells = [part for cell in cells for part in cell.by_phase()]
    if any(cell.strength < 0 for cell in cells):
        upwards = any(cell.strength > 0 for cell in cells)
        sides = [side for cell in cells for side in cell.by_direction()]
        cells = [side for side in sides if upwards or side.direction != "up"]
    grouping = group(cells)
    members: dict[tuple, list[Cell]] = {}
    failures = []
    for i in _order(cells, grouping):
        if cells[i].done:
            members.setdefault(grouping.labels[i], []).append(cells[i])
        else:
            failures.append(failure_row(grouping.label(i), cells[i]))
    finished = [cell for curve in members.values() for cell in curve]
    if len({tuple(cell.manifest["columns"]) for cell in finished}) > 1:
        raise UserError("cells of two versions of brittlestar have different columns: aggregate them apart")
    hold_rows(finished)
    labels = [label for label, curve in members.items() for _ in curve]
    tables = Tables([], [], [], failures, finished, Grouping(grouping.columns, labels), [])
    curves = (Curve(dict(zip(grouping.columns, label, strict=True)), curve) for label, curve in members.items())
    for curve, intervals in curve_intervals(curves):
        _add(tables, curve, intervals)
    tables.baseline_checks = _once_per_policy(tables.baseline_checks)
    return tables


def _add(tables: Tables, curve: Curve, intervals: CurveIntervals) -> None:
    record = curve.cells[0].manifest.get("record")
    check = _baseline_check(curve, RecordedReturn(**record)) if record else None
    column = {} if not record else {"baseline_check": check.status if check else "no clean cell"}
    tables.cells += [row | column for row in _cell_rows(curve)]
    tables.curve += [row | column for row in _curve_rows(curve, intervals)]
    tables.summary += [row | column for row in _summary_rows(curve, intervals)]
    tables.baseline_checks += [(curve.label, check)] if check else []


def _baseline_check(curve: Curve, recorded: RecordedReturn) -> BaselineCheck | None:
    """Compares the recorded return with all clean episodes of a curve."""
    clean = [cell for cell in curve.cells if cell.strength == 0]
    if not clean:
        return None
    returns = np.concatenate([cell.column("return") for cell in clean])
    return check_baseline(recorded, returns, other_limit(clean[0].config["env"]))


def _once_per_policy(checks: list[tuple[Row, BaselineCheck]]) -> list[tuple[Row, BaselineCheck]]:
    """Joins equal checks of curves that differ in what disturbs the policy: their clean episodes are the same."""
    joined: dict[tuple, Row] = {}
    for label, check in checks:
        key = tuple(v for c, v in label.items() if c.partition(".")[0] not in _DISTURBING), check
        joined[key] = {c: v if v == label[c] else None for c, v in joined.get(key, label).items()}
    return [(label, check) for (_, check), label in joined.items()]


def _order(cells: list[Cell], grouping: Grouping) -> list[int]:
    """Sorts cells by label, strength and seed, so that the tables do not depend on the order of the input."""
    phases = list(dict.fromkeys(phase for cell in cells for phase in cell.manifest.get("phases", ())))

    def in_time(label: tuple) -> list:
        # Phases sort as they follow each other.
        pairs = zip(grouping.columns, label, strict=True)
        return [phases.index(v) if c == "phase" and v in phases else v for c, v in pairs]

    ranks = {label: sort_key(in_time(label)) for label in set(grouping.labels)}

    def key(i: int) -> tuple:
        return ranks[grouping.labels[i]], abs(cells[i].strength), cells[i].seed, cells[i].manifest.get("overrides", [])

    return sorted(range(len(cells)), key=key)


def _cell_rows(curve: Curve) -> list[Row]:
    rows = []
    for cell in curve.cells:
        place = curve.place(cell)
        row = curve.label | cell.place | {"cell": cell.manifest["cell"], "episodes": int(curve.episodes[place])}
        rows.append(row | dict(zip(curve.metrics, curve.mean[place].tolist(), strict=True)))
    return rows


def _curve_rows(curve: Curve, intervals: CurveIntervals) -> list[Row]:
    seeds, episodes = (curve.episodes > 0).sum(axis=1).tolist(), curve.episodes.sum(axis=1).tolist()
    metrics = _metric_columns(curve)
    columns = {
        "strength": curve.strengths,
        "n_seeds": seeds,
        "n_episodes": episodes,
        **metrics,
        "metric_interval": [
            f"t over {k} seeds, 95 %" if k > 1 else f"t over {n} episodes, 95 %"
            for k, n in zip(seeds, episodes, strict=True)
        ],
        "instability": metrics["return_std"],
        "time_to_success_n": curve.of(curve.count, "time_to_success").sum(axis=1).tolist(),
    }
    for i, name in enumerate(curve.measures):
        columns[f"{name}_bootstrap_low"] = intervals.low[i].tolist()
        columns[f"{name}_bootstrap_high"] = intervals.high[i].tolist()
        columns |= _rate_columns(curve, i, columns) if name in RATES else {f"{name}_method": columns["metric_interval"]}
    if len(curve.measures) == 1 and curve.measures[0] in RATES:
        # One success under two names: the other name has the same interval.
        columns |= {f"{name}_{end}": columns[f"{curve.measures[0]}_{end}"] for name in RATES for end in ("low", "high")}
    start = curve.label | {"strength_name": curve.strength_name}
    return [start | dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def _metric_columns(curve: Curve) -> dict[str, list[float]]:
    """Mean, standard deviation over seeds and t interval of every metric at every strength."""
    n, mean, spread = moments(curve.mean, axis=1)
    # A single seed does not show how seeds differ: its interval is over episodes.
    single = ((curve.episodes > 0).sum(axis=1) == 1)[:, None]
    error = np.where(single, np.nansum(curve.std, axis=1), spread)
    half = t_half_width(error, np.where(single, curve.count.sum(axis=1), n))
    low, high = mean - half, mean + half
    columns: dict[str, list[float]] = {}
    for i, name in enumerate(curve.metrics):
        for suffix, values in (("", mean), ("_std", spread), ("_low", low), ("_high", high)):
            columns[name + suffix] = values[:, i].tolist()
    return columns


def _rate_columns(curve: Curve, index: int, columns: dict[str, list]) -> dict[str, list]:
    """The interval of a success rate. One seed: Wilson over episodes. Several: t over seeds, at least Wilson.

    The t interval reflects how seeds differ, but has no width when all seeds agree. Wilson reflects the number of
    episodes, but treats all of them as independent.
    """
    name, seeds, episodes = curve.measures[index], np.array(columns["n_seeds"]), columns["n_episodes"]
    successes = np.nansum(curve.scores[index], axis=(1, 2))
    over_seeds = columns[f"{name}_low"], columns[f"{name}_high"]
    low, high = (np.where(seeds == 1, np.nan, bound) for bound in over_seeds)
    intervals = {"_wilson": wilson(successes, episodes), "_t": over_seeds}
    intervals[""] = at_least_wilson(low, high, successes, episodes)
    rates = {}
    for kind, bounds in intervals.items():
        for end, values in zip(("low", "high"), bounds, strict=True):
            rates[f"{name}{kind}_{end}"] = np.asarray(values).tolist()
    rates[f"{name}_method"] = [
        f"Wilson, n = {n}, 95 %" if k == 1 else f"t over {k} seeds, at least Wilson, n = {n}, 95 %"
        for k, n in zip(seeds.tolist(), episodes, strict=True)
    ]
    return rates


def _summary_rows(curve: Curve, intervals: CurveIntervals) -> list[Row]:
    levels, threshold = np.abs(curve.strengths), threshold_of(curve)
    rows = []
    for i, measure in enumerate(curve.measures):
        _, means, _ = moments(curve.of(curve.mean, measure), axis=1)
        row = curve.label | {"strength_name": curve.strength_name, "measure": measure}
        row |= _baseline_columns(curve, float(means[0]), threshold)
        row["critical"] = float(critical_level(levels, means, threshold))
        row |= {name: float(values[i]) for name, values in intervals.shape.items()}
        row |= {"worst_strength": curve.strengths[int(means.argmin())], "worst": float(means.min())}
        rows.append(row | {"solved_at_reset": _solved_at_reset(curve), "interval_method": interval_method(curve)})
    return rows


def _baseline_columns(curve: Curve, first: float, threshold: float) -> Row:
    """The baseline, which only strength 0 is, and whether it is too low, where there is a threshold."""
    columns: Row = {"baseline_strength": curve.strengths[0], "baseline": first} if curve.strengths[0] == 0 else {}
    columns["threshold"] = threshold
    return columns | ({"incapable": first < threshold} if "baseline" in columns and threshold == threshold else {})


def _solved_at_reset(curve: Curve) -> float:
    share, count = (curve.of(values, "solved_at_reset") for values in (curve.mean, curve.count))
    return float(np.nansum(share * count) / count.sum()) if count.any() else float("nan")
