"""Charts of perception for the page of a sweep: success along every axis, and over pairs of axes."""

from __future__ import annotations

import itertools
from typing import Any

from brittlestar.reports.page.numbers import finite
from brittlestar.reports.sections import Chart
from brittlestar.results.format import bounded, text
from brittlestar.results.load import Row
from brittlestar.results.rows import group_rows
from brittlestar.studies.perception.axes import Axis
from brittlestar.studies.perception.joint_maps import place_of
from brittlestar.studies.perception.joint_scores import OPEN, JointScores
from brittlestar.studies.perception.scores import PerceptionScores
from brittlestar.studies.perception.swept_cells import SweptPolicy
from brittlestar.studies.perception.training_ranges import SEEN_BEFORE

_STYLE = ".3g"
_IN_TRAINING = "was in training"


def level_chart(policies: dict[str, list[Row]], pictures: list[str]) -> Chart:
    """Returns success over the strength of every axis, from rows of `perception_levels` by the name of the policy."""
    panels: dict[str, dict[str, Any]] = {}
    for policy, rows in policies.items():
        for (axis,), points in group_rows(rows, ["axis"]).items():
            x = f"{points[0]['strength_name']} of {points[0]['perturbation']}"
            panels.setdefault(axis, {"title": axis, "x": x, "lines": []})["lines"].append(
                {
                    "name": policy,
                    "x": [row["strength"] for row in points],
                    "mean": finite(row["success"] for row in points),
                    "low": finite(row["success_low"] for row in points),
                    "high": finite(row["success_high"] for row in points),
                    "notes": [_IN_TRAINING if row["in_training"] == SEEN_BEFORE else "" for row in points],
                }
            )
    data = {"panels": list(panels.values()), "x": "level", "y": "success rate", "share": True, "chooser": "Axis"}
    return Chart("lines", "Success along every axis", data, pictures)


def overall(scores: PerceptionScores) -> str:
    """Returns the area under success over all axes, and the axis with the smallest area, in a sentence."""
    name, worst = min(scores.axes.items(), key=lambda item: item[1].value)
    area = f"area under success over all axes {bounded(scores.overall, scores.low, scores.high, _STYLE)}"
    return f"{area}; smallest along {name}: {bounded(worst.value, worst.low, worst.high, _STYLE)}"


def joint_charts(
    scored: list[tuple[SweptPolicy, JointScores]], axes: dict[str, Axis], pictures: list[str]
) -> list[Chart]:
    """Returns a map of success for every policy and pair of axes (others are 0), and success with all axes at once."""
    panels = [
        {"title": f"{agent.name}: {list(axes)[pair[0]]} and {list(axes)[pair[1]]}"} | _map(scores, axes, pair)
        for agent, scores in scored
        for pair in itertools.combinations(range(len(axes)), 2)
    ]
    names = list(axes)
    labels = (names[0], names[1]) if len(names) == 2 else ("first axis", "second axis")
    data = {"panels": panels, "x": labels[0], "y": labels[1], "share": True, "chooser": "Map"}
    together = [{"title": agent.name, "lines": _diagonal(scores)} for agent, scores in scored]
    lines = {"panels": together, "x": "level of all axes", "y": "success rate", "share": True, "chooser": "Policy"}
    return [Chart("map", "Success over two axes", data, pictures), Chart("lines", "All axes at once", lines)]


def _diagonal(scores: JointScores) -> list[dict[str, Any]]:
    """Returns success where all axes have the same level, and what the product of the single axes promises."""
    places = [place for place in zip(*scores.levels, strict=True) if place in scores.gaps]
    rows = [scores.gaps[place].as_row("success") for place in places]
    x = [place[0] for place in places]
    bounds = {end: finite(row[f"success_{end}"] for row in rows) for end in ("low", "high")}
    promised = [row["success"] if level == 0 else row["promised"] for level, row in zip(x, rows, strict=True)]
    measured = {"name": "measured", "x": x, "mean": finite(row["success"] for row in rows)} | bounds
    return [measured, {"name": "promised by the product", "x": x, "mean": finite(promised)}]


def _map(scores: JointScores, axes: dict[str, Axis], pair: tuple[int, int]) -> dict[str, Any]:
    across, along = (list(axes.values())[i] for i in pair)
    rows = []
    for level in reversed(scores.levels[pair[1]]):
        rows.append([place_of(scores, {pair[0]: other, pair[1]: level}) for other in scores.levels[pair[0]]])
    gaps = [[scores.gaps.get(place) for place in row] for row in rows]
    return {
        "x": [text(float(strength)) for strength in across.strengths],
        "y": [text(float(strength)) for strength in reversed(along.strengths)],
        "values": [[None if gap is None else gap.measured for gap in row] for row in gaps],
        "notes": [[_note(scores, place) for place in row] for row in rows],
    }


def _note(scores: JointScores, place: tuple[float, ...]) -> str:
    if place not in scores.p_holm:
        return ""
    decided = "not decided" if scores.verdict(place) == OPEN else scores.verdict(place)
    return f"the product of single axes promises {text(scores.gaps[place].promised)}: {decided}"
