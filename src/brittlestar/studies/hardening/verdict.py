"""Both curves on the same episodes: what the training cost without noise, and what it gained at every level."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from brittlestar.results.aggregate import Tables
from brittlestar.results.compare import Comparison, compare
from brittlestar.results.format import bounded, bounded_column, text
from brittlestar.results.load import RATES, Row
from brittlestar.studies.hardening.study import AFTER, BEFORE, Study

SIGNED = ("+.4g", "none")
"""Style of a difference, and what to write where it is missing."""
SIGNIFICANT = 0.05
NUMBERS = ("critical_interpolated", "auc", "normalised_auc")
"""Columns of the summary that are compared, each with an interval."""


@dataclass
class Verdict:
    """What hardening bought and what it cost, for each measure."""

    gains: list[Row]
    """A row per measure and level: after minus before."""
    curves: list[Row]
    """A row per measure and side: where the curve breaks, and the area under it."""
    areas: dict[str, Row]
    """By measure, the difference of the normalised area under the curve."""
    paired: bool

    def of(self, measure: str) -> list[Row]:
        """Returns the gains in one measure, from level 0 on."""
        return [row for row in self.gains if row["measure"] == measure]

    def clean_cost(self, measure: str) -> Row:
        """Returns what is lost at level 0: before minus after."""
        row = next(row for row in self.of(measure) if row["strength"] == 0)
        return {
            "cost": -row["gain"] + 0.0,
            "low": -row["high"] + 0.0,
            "high": -row["low"] + 0.0,
            "p": row["p"],
            "method": row["method"],
        }


def judge(study: Study, tables: Tables) -> Verdict:
    """Compares the cells in `after/` with those in `before/`.

    Args:
        study: what was hardened.
        tables: of both sides.
    """
    found = list(dict.fromkeys(str(row["measure"]) for row in tables.summary))
    measures = sorted(found, key=lambda measure: measure != study.measure)
    pairs = {measure: _compare(study.folder, measure) for measure in measures}
    gains = [_gain(measure, row) for measure, pair in pairs.items() for row in pair.levels]
    sides = [row for side in (BEFORE, AFTER) for row in tables.summary if row["model"] == side]
    curves = [_curve(row) for measure in measures for row in sides if row["measure"] == measure]
    areas = {measure: pair.curve | _bounds(measure, pair.curve) for measure, pair in pairs.items()}
    return Verdict(gains, curves, areas, all(pair.paired for pair in pairs.values()))


def _compare(folder: Path, measure: str) -> Comparison:
    return compare(str(folder / AFTER), str(folder / BEFORE), [], [], measure)


def _gain(measure: str, row: Row) -> Row:
    renamed = {"measure": measure, "strength": row["strength"], "before": row["b"], "after": row["a"]}
    renamed |= {"gain": row["difference"], "n": min(row["n_a"], row["n_b"])}
    return renamed | _bounds(measure, row) | {key: row[key] for key in ("p", "p_holm", "method")}


def _bounds(measure: str, row: Row) -> Row:
    """Returns the interval of a difference; rates cannot differ by more than 1, whatever a t interval says."""
    low, high = row["low"], row["high"]
    known = measure in RATES and low is not None
    return {"low": max(low, -1.0), "high": min(high, 1.0)} if known else {"low": low, "high": high}


def _curve(row: Row) -> Row:
    sides: Row = {key: row[key] for key in ("phase", "direction") if key in row}
    kept: Row = {"measure": row["measure"], "policy": row["model"], **sides, "clean": row["baseline"]}
    kept["critical"] = row["critical"]
    for name in NUMBERS:
        kept |= {name + end: row[name + end] for end in ("", "_low", "_high")}
    return kept | {"method": row["interval_method"]}


def critical_text(row: Row, levels: list[float]) -> str:
    """Writes where a curve breaks; one that never does breaks beyond the last level, if at all."""
    value, low, high = (row[f"critical_interpolated{end}"] for end in ("", "_low", "_high"))
    if math.isnan(value) and math.isnan(low):
        # A raw return has no middle where it counts as broken.
        return "none"
    return bounded(value, low, high, missing=f"> {text(float(max(map(abs, levels))))}")


def headline(study: Study, verdict: Verdict) -> list[str]:
    """Says in a few lines what hardening cost and gained in the measure that it was for."""
    measure = verdict.gains[0]["measure"]
    cost, rows = verdict.clean_cost(measure), [row for row in verdict.of(measure) if row["strength"] != 0]
    better = [row for row in rows if _shown(row) and row["gain"] > 0]
    worse = [row for row in rows if _shown(row) and row["gain"] < 0]
    best = max(rows, key=lambda row: row["gain"] if row["gain"] is not None else -math.inf)
    lines = [
        f"clean cost: {bounded(cost['cost'], cost['low'], cost['high'], *SIGNED)} {measure}, p = {text(cost['p'])}"
    ]
    told = f"gain: shown at {len(better)} of {len(rows)} levels, loss at {len(worse)}; most at {study.strength} = "
    told += f"{text(best['strength'])}: {bounded(best['gain'], best['low'], best['high'], *SIGNED)}, "
    lines.append(told + f"p = {text(best['p'])}, over all levels {text(best['p_holm'])}")
    area = verdict.areas[measure]
    lines += _shapes(study, [row for row in verdict.curves if row["measure"] == measure])
    lines.append(f"normalised auc: {bounded(area['difference'], area['low'], area['high'], *SIGNED)}")
    return [*lines, _conclusion(measure, area, cost)]


def _shapes(study: Study, curves: list[Row]) -> list[str]:
    """Says where curves break and what is left of them, before and after; phases of a schedule one by one."""
    lines = []
    befores, afters = ([row for row in curves if row["policy"] == side] for side in (BEFORE, AFTER))
    for pair in zip(befores, afters, strict=True):
        where = f" ({pair[0]['phase']})" if "phase" in pair[0] else ""
        critical = " -> ".join(critical_text(row, study.levels) for row in pair)
        auc = " -> ".join(bounded_column(row, "auc", missing="none") for row in pair)
        lines += [f"critical {study.strength}{where}: {critical}", f"auc{where}: {auc}"]
    return lines


def _shown(row: Row) -> bool:
    # The test takes episodes for independent; the interval knows that seeds differ.
    apart = row["low"] is not None and not row["low"] <= 0 <= row["high"]
    return apart and row["p_holm"] is not None and row["p_holm"] < SIGNIFICANT


def _conclusion(measure: str, area: Row, cost: Row) -> str:
    if area["low"] > 0:
        told = "the hardened policy is more robust over the curve"
    elif area["high"] < 0:
        told = "the hardened policy is LESS robust over the curve"
    else:
        told = "no difference over the curve can be shown"
    paid = "no clean cost can be shown"
    if cost["low"] > 0:
        paid = f"it pays {cost['cost']:.3g} {measure} without perturbation"
    elif cost["high"] < 0:
        paid = f"it even gains {-cost['cost']:.3g} {measure} without perturbation"
    return f"{told}; {paid}"
