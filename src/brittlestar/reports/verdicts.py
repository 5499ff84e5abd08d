"""What curves show, in sentences, from the numbers of the tables; and what they do not decide."""

import math
from collections.abc import Iterable
from typing import NamedTuple

from brittlestar.reports.curve_names import curve_names
from brittlestar.results.aggregate import Tables
from brittlestar.results.format import bounded, bounded_column, text
from brittlestar.results.load import RATES, Row
from brittlestar.results.rows import group_rows, measures

MEASURE_NAMES = {"success_any": "any-step success", "success_final": "final-step success"}
_STYLE = ".3g"


class Verdict(NamedTuple):
    """What a curve shows."""

    curve: str
    sentence: str


def labelled_curves(tables: Tables) -> dict[tuple, str]:
    """Returns the name of every curve by its label, in the order of the tables; also where there is only one."""
    keys = group_rows(tables.curve, tables.grouping.columns)
    names = curve_names(tables.grouping.columns, keys)
    return {key: names[key] or text(keys[key][0].get("policy")) or "the policy" for key in keys}


def curve_verdicts(tables: Tables) -> list[Verdict]:
    """Returns one sentence per curve: up to which strength it holds, and which success falls first."""
    columns = tables.grouping.columns
    points, summaries = group_rows(tables.curve, columns), group_rows(tables.summary, columns)
    verdicts = []
    for key, name in labelled_curves(tables).items():
        rows = sorted(summaries.get(key, []), key=lambda row: _finite(row["critical_interpolated"]))
        parts = [_sentence(row, points[key], len(rows) > 1) for row in rows]
        verdicts.append(Verdict(name, "; ".join(parts + _order(rows))))
    return verdicts


def open_questions(tables: Tables) -> list[Verdict]:
    """Returns where the interval of a curve holds its threshold, so that more episodes are needed to decide."""
    columns = tables.grouping.columns
    points, found = group_rows(tables.curve, columns), []
    names = labelled_curves(tables)
    for row in tables.summary:
        key, measure, threshold = tuple(row[c] for c in columns), str(row["measure"]), float(row["threshold"])
        between = [p for p in points[key] if p[f"{measure}_low"] <= threshold <= p[f"{measure}_high"]]
        if between:
            places = ", ".join(f"{_at(p)} ({bounded_column(p, measure, _STYLE)})" for p in between)
            found.append(Verdict(names[key], f"whether {_name(measure, True)} is above {_percent(row)} at {places}"))
    return found


def _sentence(row: Row, points: list[Row], several: bool) -> str:
    measure = str(row["measure"])
    if math.isnan(row["threshold"]):
        first, worst = points[0], min(points, key=lambda point: _finite(point[measure]))
        return f"{_name(measure, several)}: {_value(first, measure)}, lowest {_value(worst, measure)}"
    if row.get("incapable"):
        return f"{_name(measure, several)} is below {_percent(row)} without perturbation: {text(row['baseline'])}"
    value, low, high = (row[f"critical_interpolated{end}"] for end in ("", "_low", "_high"))
    first, last = (end(points, key=lambda point: abs(point["strength"])) for end in (min, max))
    if first[measure] < row["threshold"]:
        return f"{_name(measure, several)} is below {_percent(row)} at the lowest level: {_value(first, measure)}"
    if math.isnan(value):
        known = f", decided up to {_strength_name(row)} = {low:{_STYLE}}" if low < abs(last["strength"]) else ""
        held = f"holds {_percent(row)} {_name(measure, several)} over all levels, up to {_at(last)}"
        return f"{_name(measure, several)} is {_value(last, measure)}" if len(points) == 1 else held + known
    if row.get("direction") == "down":
        interval = bounded(-value, -high, -low, _STYLE)
    elif math.isinf(high):
        interval = f"{value:{_STYLE}} [{low:{_STYLE}}, beyond the sweep]"
    else:
        interval = bounded(value, low, high, _STYLE)
    return f"holds {_percent(row)} {_name(measure, several)} up to {_strength_name(row)} = {interval}"


def _order(rows: list[Row]) -> list[str]:
    """Returns which success falls first, if the intervals of the critical strengths do not overlap."""
    known = {row["measure"]: row for row in rows if not math.isnan(row["threshold"]) and not row.get("incapable")}
    if not set(RATES) <= set(known):
        return []
    any_step, final_step = (known[name] for name in RATES)
    # Both ends are levels: at one that they share, the one success is below the threshold and the other is not.
    is_first = final_step["critical_interpolated_high"] <= any_step["critical_interpolated_low"]
    return ["final-step success falls before any-step success"] if is_first else []


def _finite(value: float) -> float:
    return math.inf if math.isnan(value) else value


def _value(point: Row, measure: str) -> str:
    return f"{bounded_column(point, measure, _STYLE, 'none')} at {_at(point)}"


def _at(point: Row) -> str:
    return f"{_strength_name(point)} = {text(point['strength'])}"


def _strength_name(row: Row) -> str:
    return str(row["strength_name"] or "strength")


def _percent(row: Row) -> str:
    return f"{100 * row['threshold']:g} %"


def _name(measure: str, several: bool) -> str:
    if measure in RATES:
        return MEASURE_NAMES[measure] if several else "success"
    return measure.replace("_", " ")


def shown_measures(rows: Iterable[Row]) -> list[str]:
    """Returns the measures of all rows of the curve table, each once."""
    return list(dict.fromkeys(measure for row in rows for measure in measures(row)))
