"""Trained without noise against trained with it, on the same episodes; and the bars of the project."""

import dataclasses
import functools
from collections.abc import Mapping
from pathlib import Path
from shutil import copyfile
from typing import Any

from brittlestar.reports.curve_plot import plot_curves
from brittlestar.results.compare import Comparison, compare, verdict
from brittlestar.results.format import bounded, bounded_column, markdown, text
from brittlestar.results.load import RATES, Row
from brittlestar.studies.pages import MET, UNDECIDED, judge, percent, points, with_interval
from brittlestar.studies.results_page.parts import Part, by_level, find_part
from brittlestar.studies.results_page.plan import ROBUST, SAC, ResultsPlan
from brittlestar.studies.results_page.published import PAIRS, TASKS
from brittlestar.studies.results_page.tables import not_measured

PICTURE = "clean_vs_robust.png"
_STEPS = dict(zip(RATES, ("any step", "final step"), strict=True))
_REACH_FINAL, _PUSH = 0.99, {"success_any": 0.95, "success_final": 0.90}
_GAIN, _GAIN_AT, _P_VALUE, _COST = 0.40, 0.05, 0.01, 0.06
_UNTRAINED = {"measured": "not trained yet", "verdict": "-"}


def pairs(plan: ResultsPlan, task: str, measure: str) -> list[Comparison]:
    """Compares each training under noise (A) with its twin without noise (B)."""
    folder = str(plan.sweep(task, "observation"))
    return [_pair(folder, clean, robust, measure) for clean, robust in plan.pairs(task)]


@functools.cache
def _pair(folder: str, clean: str, robust: str, measure: str) -> Comparison:
    comparison = compare(folder, folder, [f"policy={robust}"], [f"policy={clean}"], measure)
    return dataclasses.replace(comparison, names=(f"`{robust}`", f"`{clean}`"))


def robust_section(plan: ResultsPlan, task: str) -> list[str]:
    """Returns the paragraphs about one task."""
    clean, robust = (find_part(plan, task, "observation", role) for role in (SAC, ROBUST))
    if clean is None or robust is None:
        return [not_measured(plan, task, role) for role, part in ((SAC, clean), (ROBUST, robust)) if part is None]
    paragraphs = [_rates(clean, robust)]
    if not plan.pairs(task):
        return paragraphs
    any_step, final_step = (pairs(plan, task, measure) for measure in RATES)
    methods = "; ".join(sorted({row["method"] for pair in any_step for row in pair.levels}))
    paragraphs += [
        f"Paired differences, trained under noise minus trained without, points; p: {methods}. p (Holm): over all "
        "levels of a pair.",
        _differences(any_step, final_step),
    ]
    lines = [
        f"- {_STEPS[pair.measure]}: {verdict(pair)}; mean success along the curve {_points(pair.curve)} points."
        for twins in zip(any_step, final_step, strict=True)
        for pair in twins
    ]
    return [*paragraphs, "\n".join(lines)]


def _rates(clean: Part, robust: Part) -> str:
    rows = []
    for x, row in clean.rows().items():
        twins, theirs = {"clean": row, "robust": robust.rows()[x]}, clean.published.row(clean.task, PAIRS, x)
        line: Row = {"sigma": x} | {f"{name}, any": with_interval(twin, "success_any") for name, twin in twins.items()}
        if theirs:
            line |= {f"{name}, published": theirs[f"{name}_success_rate"] for name in twins}
            line["difference, published"] = points(theirs["delta"])
        rows.append(line | {f"{name}, final": with_interval(twin, "success_final") for name, twin in twins.items()})
    return markdown(rows, dict.fromkeys(key for row in rows for key in row))


def _differences(any_step: list[Comparison], final_step: list[Comparison]) -> str:
    rows = []
    for number, both in enumerate(zip(any_step, final_step, strict=True)):
        for levels in zip(*(pair.levels for pair in both), strict=True):
            row: Row = {"pair": number} if len(any_step) > 1 else {}
            row["sigma"] = levels[0]["strength"]
            for name, level in zip(("any", "final"), levels, strict=True):
                row[f"difference, {name}"] = _points(level)
                row[f"p, {name}"] = f"{level['p']:.2g}"
                row[f"p (Holm), {name}"] = f"{level['p_holm']:.2g}"
            rows.append(row)
    return markdown(rows, rows[0])


def draw_push(plan: ResultsPlan, folder: Path) -> bool:
    """Draws both curves of FetchPush next to the page; False if a policy is missing."""
    clean, robust = (find_part(plan, "fetch_push", "observation", role) for role in (SAC, ROBUST))
    if clean is None or robust is None:
        return False
    path = plan.folder / Path(PICTURE).stem
    plot_curves(clean.tables.curve + robust.tables.curve, ["env", "policy", "perturbation"], path)
    copyfile(path.with_suffix(".png"), folder / PICTURE)
    return True


def bars(plan: ResultsPlan) -> str:
    """Returns the table of bars: what was asked for, what was measured, and the verdict of the interval."""
    rows = []
    for role in (SAC, ROBUST):
        part = find_part(plan, "fetch_reach", "observation", role)
        for name in plan.policies[f"fetch_reach.{role}"]:
            rows.append(_rate_bar("fetch_reach", part, name, "success_final", _REACH_FINAL))
    part = find_part(plan, "fetch_push", "observation", SAC)
    for name in plan.policies[f"fetch_push.{SAC}"]:
        rows += [_rate_bar("fetch_push", part, name, measure, bar) for measure, bar in _PUSH.items()]
    for measure in RATES:
        rows += _pair_bars(pairs(plan, "fetch_push", measure), _STEPS[measure])
    return markdown(rows, ["bar", "asked", "measured", "verdict"])


def _rate_bar(task: str, part: Part | None, name: str, measure: str, bar: float) -> Row:
    row = {"bar": f"{TASKS[task]}, `{name}`, no noise, {_STEPS[measure]}", "asked": f">= {percent(bar)}"}
    if part is None or name not in part.trainings:
        return row | _UNTRAINED
    tables = part.trainings[name]
    clean = by_level(tables)[0.0]
    lowest = min(cell[measure] for cell in tables.cells if cell["strength"] == 0)
    measured = f"{bounded_column(clean, measure, percent)}, n = {clean['n_episodes']}; lowest seed {percent(lowest)}"
    return row | {"measured": measured, "verdict": judge(bar, clean[f"{measure}_low"], clean[f"{measure}_high"])}


def _pair_bars(comparisons: list[Comparison], step: str) -> list[Row]:
    gain = {"bar": f"FetchPush-v4, gain at sigma = {text(_GAIN_AT)}, {step}"}
    gain["asked"] = f">= {points(_GAIN)} points, p < {_P_VALUE}"
    cost = {"bar": f"FetchPush-v4, cost without noise, {step}", "asked": f"<= {points(_COST)[1:]} points"}
    rows = [row for pair in comparisons for row in (gain | _gain(pair), cost | _cost(pair))]
    return rows or [gain | _UNTRAINED, cost | _UNTRAINED]


def _gain(pair: Comparison) -> Row:
    level = next(row for row in pair.levels if row["strength"] == _GAIN_AT)
    same = "the same" if pair.paired else "DIFFERENT"
    mark = judge(_GAIN, level["low"], level["high"])
    if mark == MET and not (pair.paired and level["p"] < _P_VALUE):
        mark = UNDECIDED
    return {"measured": f"{_points(level)}, p = {level['p']:.2g}, {same} {level['n_a']} episodes", "verdict": mark}


def _cost(pair: Comparison) -> Row:
    clean = next(row for row in pair.levels if row["strength"] == 0)
    loss = {"difference": -clean["difference"], "low": -clean["high"], "high": -clean["low"]}
    # A cost of at most the bar is a gain of at least its negative.
    mark = judge(-_COST, clean["low"], clean["high"])
    return {"measured": f"{_points(loss)}, p = {clean['p']:.2g}", "verdict": mark}


def _points(row: Mapping[str, Any]) -> str:
    """Writes a difference of rates in points, with its interval."""
    return bounded(row["difference"], row["low"], row["high"], points)
