"""The section of a report on a fingerprint: table, picture, chart, and what breaks a policy first."""

from __future__ import annotations

import math
from pathlib import Path

from brittlestar.reports.curve_names import curve_names
from brittlestar.reports.sections import Chart, Section
from brittlestar.results.format import bounded, markdown
from brittlestar.results.grouping import BACKEND, group
from brittlestar.results.load import RATES, Cell, Row
from brittlestar.results.write import write_rows
from brittlestar.statistics.intervals import t_interval, wilson
from brittlestar.studies.critical.curves import LEVEL_STYLE, CriticalCurve
from brittlestar.studies.critical.report import critical_section
from brittlestar.studies.fingerprint.axes import FingerprintAxis
from brittlestar.studies.fingerprint.differences import (
    AXIS_DIFFERENCE_METHODS,
    axis_difference_rows,
    axis_differences_table,
)
from brittlestar.studies.fingerprint.plots import draw_fingerprint
from brittlestar.studies.fingerprint.ranking import Print, level_text, sentence, shares

_TABLE, _DIFFERENCES, _PICTURE = "fingerprint", "fingerprint_differences", "fingerprint"
_LIMITS = [
    "Axes are ranked by the critical level as a share of the level that `study.axes` calls large: another choice of "
    "these levels gives another order. Of two axes whose 95 % intervals overlap, the order counts as not decided.",
]


def fingerprint_section(
    curves: list[CriticalCurve], clean: list[Cell], axes: list[FingerprintAxis], left_out: dict[str, str], out: Path
) -> Section:
    """Writes the tables and pictures of a fingerprint into a folder, and returns its section."""
    prints = _prints(curves, axes)
    levels = critical_section(curves, out)
    rows = [row for name, own in prints.items() for row in _rows(name, own, axes)]
    write_rows(rows, out / _TABLE)
    draw_fingerprint(prints, axes, out / _PICTURE)
    sentences = [(name, sentence(own, axes)) for name, own in prints.items()]
    body = [*(f"{name}: {text}" for name, text in sentences), _table(prints, axes, _clean_texts(clean))]
    gaps = axis_difference_rows(prints, axes)
    if gaps:
        write_rows(gaps, out / _DIFFERENCES)
        body.append(axis_differences_table(gaps))
    body += ["\n".join(f"- left out: {name}: {reason}" for name, reason in left_out.items())] if left_out else []
    warnings = [f"- warning: {curve.name}: {curve.warning()}" for curve in curves if curve.warning()]
    body += ["\n".join(warnings)] if warnings else []
    tables = [_TABLE, *([_DIFFERENCES] if gaps else []), *levels.tables]
    methods = [*levels.methods, *(AXIS_DIFFERENCE_METHODS if gaps else [])]
    return Section(
        "Fingerprint", "\n\n".join(body), [_PICTURE, *levels.pictures], tables, methods, [*levels.limits, *_LIMITS],
        [_radar(prints, axes), *levels.charts], sentences, answers=True,
    )  # fmt: skip


def _prints(curves: list[CriticalCurve], axes: list[FingerprintAxis]) -> dict[str, Print]:
    """Returns the curves of each policy, by axis, in the order of the axes."""
    names, by_option = _names([curve.label for curve in curves]), {axis.perturbation: axis for axis in axes}
    prints: dict[str, Print] = {}
    for name, curve in zip(names, curves, strict=True):
        axis = by_option.get(str(curve.label["perturbation"]))
        if axis is not None:
            prints.setdefault(name, {})[axis.name] = curve
    return {name: {axis.name: own[axis.name] for axis in axes if axis.name in own} for name, own in prints.items()}


def _names(labels: list[Row]) -> list[str]:
    """Returns the name of each combination of the sweep, which is the same for all perturbations."""
    # Some perturbations need another backend than the others.
    columns = [name for name in labels[0] if name.partition(".")[0] != "perturbation" and name != BACKEND]
    keys = [tuple(label[name] for name in columns) for label in labels]
    names = curve_names(columns, dict.fromkeys(keys))
    return [names[key] or str(label["policy"]) for key, label in zip(keys, labels, strict=True)]


def _clean_texts(cells: list[Cell]) -> dict[str, str]:
    """Returns the success rate, or the mean return, of each combination without perturbation."""
    if not cells:
        return {}
    grouping, texts = group(cells), dict[str, str]()
    names = _names([grouping.label(i) for i in range(len(cells))])
    for name, cell in zip(names, cells, strict=True):
        measure = str(cell.manifest["measure"])
        values = cell.column(measure if measure in RATES else "return")
        is_rate = measure in RATES
        low, high = wilson(values.sum(), values.size) if is_rate else t_interval(values)
        texts[name] = bounded(values.mean(), low, high, LEVEL_STYLE) + ("" if is_rate else " (return)")
    return texts


def _rows(name: str, own: Print, axes: list[FingerprintAxis]) -> list[Row]:
    rows = []
    for axis in axes:
        if axis.name in own:
            share, bounds = shares(own[axis.name], axis)
            numbers = {"share_of_large": share, "share_low": bounds.low, "share_high": bounds.high, "large": axis.large}
            label = {"policy": name, "axis": axis.name, "unit": axis.unit} | numbers
            rows.append(label | {k: v for k, v in own[axis.name].row().items() if k not in label and k != "policy"})
    return rows


def _table(prints: dict[str, Print], axes: list[FingerprintAxis], clean: dict[str, str]) -> str:
    rows: list[Row] = [{"axis": "without perturbation", "unit": ""} | clean] if clean else []
    for axis in axes:
        entries = {name: level_text(own[axis.name], axis) for name, own in prints.items() if axis.name in own}
        if entries:
            rows.append({"axis": axis.name} | entries | {"unit": axis.unit})
    return markdown(rows, ["axis", *prints, "unit"])


def _radar(prints: dict[str, Print], axes: list[FingerprintAxis]) -> Chart:
    """Returns the critical levels as shares of large ones, cut at 1."""
    used = [axis for axis in axes if any(axis.name in own for own in prints.values())]
    rows = []
    for name, own in prints.items():
        values = [_spoke(own[axis.name], axis) if axis.name in own else None for axis in used]
        rows.append({"name": name, "values": values})
    title = "Critical level / large level (1: as much or more)"
    return Chart("radar", title, {"panels": [{"title": "", "axes": [a.name for a in used], "rows": rows}]}, [_PICTURE])


def _spoke(curve: CriticalCurve, axis: FingerprintAxis) -> float | None:
    share, (low, _) = shares(curve, axis)
    return None if math.isinf(share) and low < 1 else round(min(share, 1.0), 4)
