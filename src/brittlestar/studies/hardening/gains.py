"""Both curves on the same episodes: what the training cost without perturbation, and what it gained at every level."""

import math
from dataclasses import dataclass
from pathlib import Path

from brittlestar.results.compare import compare
from brittlestar.results.difference import LevelDifference, is_decided
from brittlestar.results.format import bounded, bounded_column, critical_text, text
from brittlestar.results.load import Row
from brittlestar.studies.hardening.setup import AFTER, BEFORE, Setup

SIGNED = ("+.4g", "none")
"""Style of a difference, and what to write where it is missing."""
SHAPES = ("critical_interpolated", "auc", "normalised_auc")
"""Columns of the summary that are compared, each with an interval."""


@dataclass
class Gains:
    """What hardening gained and what it cost, for each measure."""

    levels: list[Row]
    """A row per measure and level: after minus before."""
    curves: list[Row]
    """A row per measure and side: where the curve breaks, and the area under it."""
    areas: dict[str, Row]
    """By measure, the difference of the normalised area under the curve."""
    paired: bool

    def of(self, measure: str) -> list[Row]:
        """Returns the gains in one measure, from level 0 on."""
        return [row for row in self.levels if row["measure"] == measure]

    def clean_cost(self, measure: str) -> Row:
        """Returns what is lost at level 0: before minus after."""
        row = next(row for row in self.of(measure) if row["strength"] == 0)
        loss = {"cost": -row["gain"] + 0.0, "low": -row["high"] + 0.0, "high": -row["low"] + 0.0}
        return loss | {"p": row["p"], "method": row["method"]}


def compare_sides(folder: Path, summary: list[Row], first: str) -> Gains:
    """Compares the cells of a folder after the training with those before it, beginning with the measure `first`."""
    measures = sorted(dict.fromkeys(str(row["measure"]) for row in summary), key=lambda measure: measure != first)
    sides = [f"model={side}" for side in (AFTER, BEFORE)]
    pairs = {measure: compare(str(folder), str(folder), sides[:1], sides[1:], measure) for measure in measures}
    levels = [_gain(measure, row) for measure, pair in pairs.items() for row in pair.levels]
    ordered = [row for side in (BEFORE, AFTER) for row in summary if row["model"] == side]
    curves = [_curve(row) for measure in measures for row in ordered if row["measure"] == measure]
    areas: dict[str, Row] = {measure: {**pair.curve} for measure, pair in pairs.items()}
    return Gains(levels, curves, areas, all(pair.paired for pair in pairs.values()))


def _gain(measure: str, row: LevelDifference) -> Row:
    renamed = {"measure": measure, "strength": row["strength"], "before": row["b"], "after": row["a"]}
    renamed |= {"gain": row["difference"], "n": min(row["n_a"], row["n_b"]), "low": row["low"], "high": row["high"]}
    return renamed | {"p": row["p"], "p_holm": row["p_holm"], "method": row["method"]}


def _curve(row: Row) -> Row:
    sides: Row = {key: row[key] for key in ("phase", "direction") if key in row}
    curve: Row = {"measure": row["measure"], "policy": row["model"], **sides, "clean": row["baseline"]}
    curve["critical"] = row["critical"]
    for name in SHAPES:
        curve |= {name + end: row[name + end] for end in ("", "_low", "_high")}
    return curve | {"method": row["interval_method"]}


def headline(setup: Setup, gains: Gains) -> list[str]:
    """Returns a few lines on what hardening cost and gained in the measure that it was for."""
    measure = gains.levels[0]["measure"]
    cost, rows = gains.clean_cost(measure), [row for row in gains.of(measure) if row["strength"] != 0]
    better, worse = (sum(is_decided(row) and sign * row["gain"] > 0 for row in rows) for sign in (1, -1))
    best = max(rows, key=lambda row: row["gain"] if row["gain"] is not None else -math.inf)
    area = gains.areas[measure]
    return [
        f"clean cost: {bounded(cost['cost'], cost['low'], cost['high'], *SIGNED)} {measure}, p = {text(cost['p'])}",
        f"gain: shown at {better} of {len(rows)} levels, loss at {worse}; most at {setup.strength} = "
        f"{text(best['strength'])}: {bounded(best['gain'], best['low'], best['high'], *SIGNED)}, "
        f"p = {text(best['p'])}, over all levels {text(best['p_holm'])}",
        *_shapes(setup, [row for row in gains.curves if row["measure"] == measure]),
        f"normalised auc: {bounded(area['difference'], area['low'], area['high'], *SIGNED)}",
        _conclusion(measure, area, cost),
    ]


def _shapes(setup: Setup, curves: list[Row]) -> list[str]:
    """Returns lines on where curves break and the area under them, before and after, phase by phase."""
    lines = []
    befores, afters = ([row for row in curves if row["policy"] == side] for side in (BEFORE, AFTER))
    for pair in zip(befores, afters, strict=True):
        where = f" ({pair[0]['phase']})" if "phase" in pair[0] else ""
        critical = " -> ".join(critical_text(row, setup.levels) for row in pair)
        auc = " -> ".join(bounded_column(row, "auc", missing="none") for row in pair)
        lines += [f"critical {setup.strength}{where}: {critical}", f"auc{where}: {auc}"]
    return lines


def _conclusion(measure: str, area: Row, cost: Row) -> str:
    robust = "no difference over the curve can be shown"
    if area["low"] > 0:
        robust = "the hardened policy is more robust over the curve"
    elif area["high"] < 0:
        robust = "the hardened policy is LESS robust over the curve"
    clean = "no clean cost can be shown"
    if cost["low"] > 0:
        clean = f"it pays {cost['cost']:.3g} {measure} without perturbation"
    elif cost["high"] < 0:
        clean = f"it even gains {-cost['cost']:.3g} {measure} without perturbation"
    return f"{robust}; {clean}"
