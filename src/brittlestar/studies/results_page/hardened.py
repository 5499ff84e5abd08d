"""Trained without noise against trained with it, on the same episodes; and the bars of the project."""

from __future__ import annotations

import dataclasses
import functools
from pathlib import Path
from shutil import copyfile

from brittlestar.reports.curve_plot import plot_curves
from brittlestar.results.compare import Comparison, compare, verdict
from brittlestar.results.format import bounded_column, markdown, text
from brittlestar.results.load import RATES, Row

from .curves import Curves, by_level, curves
from .formats import NAMES, bounded_number, difference, percent, points
from .published import HARDENED, Published
from .studies import ROBUST, SAC, TASKS, Plan
from .sweeps import not_measured

PICTURE = "clean_vs_robust.png"
REACH_FINAL, PUSH_ANY, PUSH_FINAL = 0.99, 0.95, 0.90
GAIN, GAIN_AT, P_VALUE, COST = 0.40, 0.05, 0.01, 0.06
_TOLERANCE = 1e-9
"""Of a bar: 0.9 - 0.5 is below 0.4 in floating point."""


def pairs(plan: Plan, task: str, measure: str) -> list[Comparison]:
    """Compares each training under noise with its twin without: A is the one under noise."""
    folder = str(plan.sweep(task, "observation"))
    return [_pair(folder, clean, robust, measure) for clean, robust in plan.pairs(task)]


@functools.cache
def _pair(folder: str, clean: str, robust: str, measure: str) -> Comparison:
    found = compare(folder, folder, [f"policy={robust}"], [f"policy={clean}"], measure)
    return dataclasses.replace(found, names=(f"`{robust}`", f"`{clean}`"))


def section(plan: Plan, task: str, published: Published) -> list[str]:
    """Returns the paragraphs about one task."""
    clean, robust = (curves(plan, task, "observation", role) for role in (SAC, ROBUST))
    if clean is None or robust is None:
        return [not_measured(plan, task, role) for role, ours in ((SAC, clean), (ROBUST, robust)) if ours is None]
    parts = [_rates(task, clean, robust, published)]
    if not plan.pairs(task):
        return parts
    together = [pairs(plan, task, measure) for measure in RATES]
    parts += ["Paired differences, trained under noise minus trained without, points; p: " + _tests(together[0])]
    parts += [_differences(*together)]
    both = [pair for twins in zip(*together, strict=True) for pair in twins]
    lines = [
        f"- {NAMES[pair.measure]}: {verdict(pair)}; mean success along the curve {difference(pair.curve)} points."
        for pair in both
    ]
    return [*parts, "\n".join(lines)]


def _rates(task: str, clean: Curves, robust: Curves, published: Published) -> str:
    rows = []
    for x, row in clean.at().items():
        theirs, twin = published.row(task, HARDENED, x), robust.at()[x]
        shown: Row = {
            "sigma": x,
            "clean, any": bounded_number(row, "success_any"),
            "robust, any": bounded_number(twin, "success_any"),
        }
        for name in ("clean", "robust"):
            shown |= {f"{name}, published": theirs[f"{name}_success_rate"]} if theirs else {}
        shown |= {"difference, published": points(theirs["delta"])} if theirs else {}
        shown |= {
            "clean, final": bounded_number(row, "success_final"),
            "robust, final": bounded_number(twin, "success_final"),
        }
        rows.append(shown)
    return markdown(rows, dict.fromkeys(key for row in rows for key in row))


def _tests(found: list[Comparison]) -> str:
    kinds = sorted({row["method"] for pair in found for row in pair.levels})
    return "; ".join(kinds) + ". p (Holm): over all levels of a pair."


def _differences(any_step: list[Comparison], final_step: list[Comparison]) -> str:
    rows = []
    for number, both in enumerate(zip(any_step, final_step, strict=True)):
        for levels in zip(*(pair.levels for pair in both), strict=True):
            row: Row = {"pair": number} if len(any_step) > 1 else {}
            row["sigma"] = levels[0]["strength"]
            for name, level in zip(("any", "final"), levels, strict=True):
                row[f"difference, {name}"] = difference(level)
                row[f"p, {name}"] = f"{level['p']:.2g}"
                row[f"p (Holm), {name}"] = f"{level['p_holm']:.2g}"
            rows.append(row)
    return markdown(rows, rows[0])


def draw(plan: Plan, folder: Path) -> bool:
    """Draws both curves of FetchPush beside the page; False if a policy is missing."""
    both = [curves(plan, "fetch_push", "observation", role) for role in (SAC, ROBUST)]
    rows = [row for ours in both if ours for row in ours.tables.curve]
    if None in both:
        return False
    path = plan.folder / Path(PICTURE).stem
    plot_curves(rows, ["env", "policy", "perturbation"], path)
    copyfile(path.with_suffix(".png"), folder / PICTURE)
    return True


def bars(plan: Plan) -> str:
    """Returns the table of bars: what was asked for, what was measured, whether it is met."""
    rows = []
    for role in (SAC, ROBUST):
        for name in plan.policies["fetch_reach." + role]:
            rows.append(_rate_bar(plan, "fetch_reach", role, name, "success_final", REACH_FINAL))
    for name in plan.policies["fetch_push." + SAC]:
        rows.append(_rate_bar(plan, "fetch_push", SAC, name, "success_any", PUSH_ANY))
        rows.append(_rate_bar(plan, "fetch_push", SAC, name, "success_final", PUSH_FINAL))
    for measure in RATES:
        rows += _pair_bars(plan, measure)
    return markdown(rows, ["bar", "asked", "measured", "met"])


def _rate_bar(plan: Plan, task: str, role: str, name: str, measure: str, bar: float) -> Row:
    row = {"bar": f"{TASKS[task]}, `{name}`, no noise, {NAMES[measure]}", "asked": f">= {percent(bar)}"}
    ours = curves(plan, task, "observation", role)
    if ours is None or name not in ours.each:
        return row | {"measured": "not trained yet", "met": "-"}
    found = by_level(ours.each[name])[0.0]
    seeds = [cell[measure] for cell in ours.each[name].cells if cell["strength"] == 0]
    told = bounded_column(found, measure, percent)
    told += f", n = {found['n_episodes']}; lowest seed {percent(min(seeds))}"
    return row | {"measured": told, "met": _met(found[measure] >= bar - _TOLERANCE)}


def _pair_bars(plan: Plan, measure: str) -> list[Row]:
    gain = {"bar": f"FetchPush-v4, gain at sigma = {text(GAIN_AT)}, {NAMES[measure]}"}
    gain["asked"] = f">= {points(GAIN)} points, p < {P_VALUE}"
    cost = {"bar": f"FetchPush-v4, cost without noise, {NAMES[measure]}", "asked": f"<= {points(COST)[1:]} points"}
    found = pairs(plan, "fetch_push", measure)
    if not found:
        missing = {"measured": "not trained yet", "met": "-"}
        return [gain | missing, cost | missing]
    return [bar for pair in found for bar in (gain | _gain(pair), cost | _cost(pair))]


def _gain(pair: Comparison) -> Row:
    at = next(row for row in pair.levels if row["strength"] == GAIN_AT)
    shared = "the same" if pair.paired else "DIFFERENT"
    return {
        "measured": f"{difference(at)}, p = {at['p']:.2g}, {shared} {at['n_a']} episodes",
        "met": _met(pair.paired and at["difference"] >= GAIN - _TOLERANCE and at["p"] < P_VALUE),
    }


def _cost(pair: Comparison) -> Row:
    clean = next(row for row in pair.levels if row["strength"] == 0)
    lost = {"difference": -clean["difference"], "low": -clean["high"], "high": -clean["low"]}
    return {
        "measured": f"{difference(lost)}, p = {clean['p']:.2g}",
        "met": _met(lost["difference"] <= COST + _TOLERANCE),
    }


def _met(ok: bool) -> str:
    return "yes" if ok else "**NO**"
