"""Trained without noise against trained with it, on the same episodes."""

import dataclasses
import functools
from collections.abc import Mapping
from pathlib import Path
from shutil import copyfile
from typing import Any

from brittlestar.reports.curve_plot import plot_curves
from brittlestar.results.compare import Comparison, compare, verdict
from brittlestar.results.format import bounded, markdown
from brittlestar.results.load import RATES, Row
from brittlestar.studies.pages import points, with_interval
from brittlestar.studies.results_page.parts import Part, find_part
from brittlestar.studies.results_page.plan import ROBUST, SAC, ResultsPlan
from brittlestar.studies.results_page.published import PAIRS
from brittlestar.studies.results_page.tables import not_measured

PICTURE = "clean_vs_robust.png"
STEPS = dict(zip(RATES, ("any step", "final step"), strict=True))


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
        f"- {STEPS[pair.measure]}: {verdict(pair)}; "
        f"mean success along the curve {points_with_interval(pair.curve)} points."
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
                row[f"difference, {name}"] = points_with_interval(level)
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


def points_with_interval(row: Mapping[str, Any]) -> str:
    """Writes a difference of rates in points, with its interval."""
    return bounded(row["difference"], row["low"], row["high"], points)
