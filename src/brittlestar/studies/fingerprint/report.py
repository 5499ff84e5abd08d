"""The section of a report on a fingerprint: table, picture, chart, and what breaks a policy first."""

from __future__ import annotations

import math
from pathlib import Path

from brittlestar.reports.curve_names import curve_names
from brittlestar.reports.sections import Chart, Section
from brittlestar.results.format import bounded, markdown
from brittlestar.results.grouping import BACKEND
from brittlestar.results.load import Row
from brittlestar.results.write import write_rows
from brittlestar.statistics.intervals import Interval
from brittlestar.studies.critical.curves import LEVEL_STYLE, CriticalCurve
from brittlestar.studies.critical.report import critical_section
from brittlestar.studies.fingerprint.axes import FingerprintAxis
from brittlestar.studies.fingerprint.plots import draw_fingerprint

_TABLE, _PICTURE = "fingerprint", "fingerprint"
_LIMITS = [
    "Axes are ranked by the critical level as a share of the level that `study.axes` calls large: another choice of "
    "these levels gives another order.",
]
_MOST_NAMED = 3

Print = dict[str, CriticalCurve]
"""The curves of a policy, by the name of the axis."""


def fingerprint_section(
    curves: list[CriticalCurve], axes: list[FingerprintAxis], left_out: dict[str, str], out: Path
) -> Section:
    """Writes the tables and pictures of a fingerprint into a folder, and returns its section."""
    prints = _prints(curves, axes)
    levels = critical_section(curves, out)
    rows = [row for name, own in prints.items() for row in _rows(name, own, axes)]
    write_rows(rows, out / _TABLE)
    draw_fingerprint(prints, axes, out / _PICTURE)
    sentences = [(name, sentence(own, axes)) for name, own in prints.items()]
    body = [*(f"{name}: {text}" for name, text in sentences), _table(prints, axes)]
    body += [_differences(prints, axes)] if len(prints) > 1 else []
    body += ["\n".join(f"- left out: {name}: {reason}" for name, reason in left_out.items())] if left_out else []
    warnings = [f"- warning: {curve.name}: {curve.warning()}" for curve in curves if curve.warning()]
    body += ["\n".join(warnings)] if warnings else []
    charts = [_radar(prints, axes), *levels.charts]
    return Section(
        "Fingerprint", "\n\n".join(body), [_PICTURE, *levels.pictures], [_TABLE, *levels.tables], levels.methods,
        [*levels.limits, *_LIMITS], charts, sentences,
    )  # fmt: skip


def _prints(curves: list[CriticalCurve], axes: list[FingerprintAxis]) -> dict[str, Print]:
    """Returns the curves of each policy, by axis, in the order of the axes."""
    # Some perturbations need another backend than the others.
    columns = [name for name in curves[0].label if name.partition(".")[0] != "perturbation" and name != BACKEND]
    keys = [tuple(curve.label[name] for name in columns) for curve in curves]
    names, by_option = curve_names(columns, dict.fromkeys(keys)), {axis.perturbation: axis for axis in axes}
    prints: dict[str, Print] = {}
    for key, curve in zip(keys, curves, strict=True):
        axis = by_option.get(str(curve.label["perturbation"]))
        if axis is not None:
            name = names[key] or str(curve.label["policy"])
            prints.setdefault(name, {})[axis.name] = curve
    return {name: {axis.name: own[axis.name] for axis in axes if axis.name in own} for name, own in prints.items()}


def shares(curve: CriticalCurve, axis: FingerprintAxis) -> tuple[float, Interval]:
    """Returns the critical level and its interval as shares of the large level; inf if it is beyond all levels."""
    value, large = curve.estimate, abs(axis.large)
    if curve.look.status == "incapable":
        return 0.0, Interval(0.0, 0.0)
    if value is None:
        most = float(curve.outcomes.trials.levels.max()) / large
        return math.inf, Interval(most, math.inf)
    return value.value / large, Interval(value.low / large, value.high / large)


def in_units(curve: CriticalCurve, axis: FingerprintAxis) -> str:
    """Writes the critical level of an axis in its unit."""
    factor, value = (100 if axis.is_percentage else 1) * curve.sign, curve.estimate
    if curve.look.status == "incapable":
        return "fails without it"
    if value is None:
        most = f"{factor * float(curve.outcomes.trials.levels.max()):{LEVEL_STYLE}} {axis.unit}".rstrip()
        return f"none up to {most}" if curve.look.status == "robust" else f"not decided up to {most}"
    low, high = sorted((factor * value.low, factor * value.high))
    return f"{bounded(factor * value.value, low, high, LEVEL_STYLE)} {axis.unit}".rstrip()


def sentence(own: Print, axes: list[FingerprintAxis]) -> str:
    """Returns what breaks a policy first, and what it does not mind."""
    by_name = {axis.name: axis for axis in axes}
    if all(curve.look.status == "incapable" for curve in own.values()):
        mean, (low, high) = next(iter(own.values())).clean
        return f"fails without any perturbation ({bounded(mean, low, high, LEVEL_STYLE)}), so it has no fingerprint"
    ranked = sorted(own, key=lambda name: shares(own[name], by_name[name])[0])
    broken = [name for name in ranked if own[name].estimate is not None]
    calm = [name for name in ranked if own[name].look.status == "robust"]
    parts = []
    if broken:
        first = [f"{name} ({in_units(own[name], by_name[name])})" for name in broken[:_MOST_NAMED]]
        parts.append(f"breaks first under {first[0]}" + (f", then {' and '.join(first[1:])}" if first[1:] else ""))
    if calm:
        parts.append(f"does not mind {', '.join(calm)}")
    elif broken:
        parts.append(f"minds {broken[-1]} least")
    return "; ".join(parts) or "nothing is decided yet"


def _rows(name: str, own: Print, axes: list[FingerprintAxis]) -> list[Row]:
    rows = []
    for axis in axes:
        if axis.name in own:
            share, bounds = shares(own[axis.name], axis)
            numbers = {"share_of_large": share, "share_low": bounds.low, "share_high": bounds.high, "large": axis.large}
            label = {"policy": name, "axis": axis.name, "unit": axis.unit} | numbers
            rows.append(label | {k: v for k, v in own[axis.name].row().items() if k not in label and k != "policy"})
    return rows


def _table(prints: dict[str, Print], axes: list[FingerprintAxis]) -> str:
    rows: list[Row] = [{"axis": "success without perturbation"} | {name: _clean(own) for name, own in prints.items()}]
    for axis in axes:
        entries = {name: in_units(own[axis.name], axis) for name, own in prints.items() if axis.name in own}
        if entries:
            rows.append({"axis": axis.name} | entries)
    return markdown(rows, ["axis", *prints])


def _clean(own: Print) -> str:
    mean, (low, high) = next(iter(own.values())).clean
    return bounded(mean, low, high, LEVEL_STYLE)


def _differences(prints: dict[str, Print], axes: list[FingerprintAxis]) -> str:
    """Writes which of the first two policies tolerates more, axis by axis, on the same episodes."""
    from brittlestar.studies.critical.differences import crossing_difference_rows

    (first, own), (second, other) = list(prints.items())[:2]
    verdicts: dict[str, list[str]] = {}
    for axis in axes:
        pair = [side[axis.name] for side in (own, other) if axis.name in side]
        rows = crossing_difference_rows(pair)
        if rows:
            more = rows[0]["difference"] * pair[0].sign > 0
            decided = rows[0]["verdict"] != "not decided"
            verdicts.setdefault((first if more else second) if decided else "not decided", []).append(axis.name)
        elif len(pair) == 2 and {pair[0].look.status, pair[1].look.status} > {"robust"}:
            winner = first if pair[0].look.status == "robust" else second
            verdicts.setdefault(winner, []).append(axis.name)
    lines = [f"{name} tolerates more of: {', '.join(v)}" for name, v in verdicts.items() if name != "not decided"]
    lines += [f"not decided between {first} and {second}: {', '.join(verdicts.get('not decided', []))}"] * (
        "not decided" in verdicts
    )
    return "\n".join(f"- {line}" for line in lines)


def _radar(prints: dict[str, Print], axes: list[FingerprintAxis]) -> Chart:
    """Returns the critical levels as shares of large ones, cut at 1."""
    used = [axis for axis in axes if any(axis.name in own for own in prints.values())]
    rows = []
    for name, own in prints.items():
        values = [min(shares(own[a.name], a)[0], 1.0) if a.name in own else None for a in used]
        rows.append({"name": name, "values": [None if v is None else round(v, 4) for v in values]})
    title = "Critical level as a share of a large one (1: as much or more)"
    return Chart("radar", title, {"panels": [{"title": "", "axes": [a.name for a in used], "rows": rows}]}, [_PICTURE])
