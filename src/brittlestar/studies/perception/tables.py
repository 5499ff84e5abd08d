"""The tables of a perception sweep: axes, and their levels."""

from __future__ import annotations

from typing import Any

from brittlestar.engine.look import SCENE_CHANGED, SCENE_DIFFERENCE
from brittlestar.results.format import bounded, markdown, text
from brittlestar.results.load import Row
from brittlestar.results.rows import group_rows
from brittlestar.studies.perception.axes import Axis
from brittlestar.studies.perception.scores import OVERALL, PerceptionScores
from brittlestar.studies.perception.swept_cells import SweptPolicy, varied_columns_before
from brittlestar.studies.perception.training_ranges import NOT_KNOWN, SEEN_BEFORE, was_trained


def level_rows(agent: SweptPolicy, scores: PerceptionScores, axes: dict[str, Axis]) -> list[Row]:
    """Returns a row for every axis and level of a policy.

    It has the success, how much of the pictures changed, and whether the level was in training.
    """
    rows: list[Row] = []
    for name, area in scores.axes.items():
        axis = axes[name]
        for (level, success), (low, high), strength in zip(area.points, area.bounds, axis.strengths, strict=True):
            place: Row = {"axis": name, "level": level, "perturbation": axis.perturbation}
            place |= {"strength_name": axis.strength, "strength": strength}
            numbers = {"success": success, "success_low": low, "success_high": high, "episodes": area.episodes}
            seen = _delivered(agent, axis.perturbation, strength)
            rows.append(
                agent.label | place | numbers | seen | {"in_training": was_trained(strength, agent.trained[name])}
            )
    return rows


def _delivered(agent: SweptPolicy, perturbation: str, strength: float) -> Row:
    """Returns how far a level changed the pictures, as a mean over its cells; nothing of other perturbations."""
    cells = [cell for cell in agent.cells if (cell.choice("perturbation"), cell.strength) == (perturbation, strength)]
    effects = [cell.manifest.get("delivery", {}) for cell in cells]
    return {
        name: sum(effect[name] for effect in effects) / len(effects)
        for name in (SCENE_CHANGED, SCENE_DIFFERENCE)
        if effects and all(name in effect for effect in effects)
    }


def axis_rows(agent: SweptPolicy, scores: PerceptionScores, levels: list[Row]) -> list[Row]:
    """Returns a row for every axis of a policy, and one for their mean; `levels` are the rows of its levels."""
    marks = group_rows(levels, ["axis"])
    rows: list[Row] = []
    for name, area in scores.axes.items():
        numbers = {"ausc": area.value, "ausc_low": area.low, "ausc_high": area.high, "clean": area.clean}
        worst = {"worst": area.worst, "worst_level": area.worst_level, "episodes": area.episodes}
        trained = {"in_training": _trained_levels(marks[(name,)])}
        rows.append(agent.label | {"axis": name} | numbers | {"retained": area.retained} | worst | trained)
    total = {"ausc": scores.overall, "ausc_low": scores.low, "ausc_high": scores.high}
    return [*rows, agent.label | {"axis": OVERALL} | total]


def _trained_levels(rows: list[Row]) -> str:
    """Writes which levels of an axis were in training."""
    if any(row["in_training"] == NOT_KNOWN for row in rows):
        return NOT_KNOWN
    levels = [row["level"] for row in rows if row["in_training"] == SEEN_BEFORE]
    return f"level {text(max(levels))}" if len(levels) == 1 else f"levels 0 to {text(max(levels))}"


def training_marks(levels: list[Row]) -> dict[str, Any]:
    """Returns what `perception.json` holds of one policy's training: axis to level and mark."""
    groups = group_rows(levels, ["axis"]).items()
    return {"in_training": {axis: [[row["level"], row["in_training"]] for row in rows] for (axis,), rows in groups}}


def axes_table(rows: list[Row]) -> str:
    """Returns the rows of all policies as Markdown."""
    shown = [
        row
        | {
            "AUSC": bounded(row["ausc"], row["ausc_low"], row["ausc_high"]),
            "clean": text(row.get("clean")),
            "retained": text(row.get("retained")),
            "worst": f"{text(row['worst'])} at level {text(row['worst_level'])}" if "worst" in row else "",
            "in training": row.get("in_training", ""),
        }
        for row in rows
    ]
    varied = varied_columns_before(rows, "axis")
    return markdown(shown, [*varied, "axis", "AUSC", "clean", "retained", "worst", "in training"])
