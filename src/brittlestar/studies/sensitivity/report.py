"""What a sensitivity study leaves: tables, `sensitivity.json`, a bar chart, and a section."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from brittlestar.cells.files import write_file
from brittlestar.reports.drawing import remove_pictures
from brittlestar.reports.sections import Section
from brittlestar.results.format import bounded_column, markdown
from brittlestar.results.load import Row
from brittlestar.results.write import write_rows
from brittlestar.statistics.sensitivity import SENSITIVITY_RESAMPLES, MorrisEffects, SobolIndices
from brittlestar.studies.broken_episodes import failure_words
from brittlestar.studies.sensitivity.bars import bar_chart, draw_bars
from brittlestar.studies.sensitivity.design import FAILURE, Finding, Question

RESULT, INDICES, POINTS, PICTURE = "sensitivity.json", "sensitivity_indices", "sensitivity_points", "sensitivity"
INDEX_COLUMNS = {"sobol": ("total", "first"), "morris": ("effect",)}
"""Columns with an interval, that which ranks the factors first."""


def sensitivity_section(findings: dict[str, Finding], reasons: list[str], question: Question, out: Path) -> Section:
    """Writes the files of a study, and returns its section."""
    rows = [row for name, finding in findings.items() for row in index_rows(name, finding)]
    write_rows(rows, out / INDICES)
    write_rows([row for name, finding in findings.items() for row in _point_rows(name, finding)], out / POINTS)
    sentences = [
        (name, sensitivity_verdict([row for row in rows if row["policy"] == name], question)) for name in findings
    ]
    write_file(out / RESULT, json.dumps(_as_dict(findings, rows, dict(sentences), question), indent=1) + "\n")
    remove_pictures(out, PICTURE)
    measures = INDEX_COLUMNS[question.method]
    draw_bars(rows, measures, out / PICTURE)
    body = "\n\n".join(["\n".join(f"- {name}: {text}." for name, text in sentences), _table(rows, measures), *reasons])
    charts = [bar_chart(rows, measures, [PICTURE])]
    methods = _methods(next(iter(findings.values())), question)
    return Section("Sensitivity", body, [PICTURE], [INDICES, POINTS], methods, _limits(question), charts, sentences)


def index_rows(name: str, finding: Finding) -> list[Row]:
    """Returns a row for each factor, the most influential first."""
    rows: list[Row] = []
    for i, factor in enumerate(finding.design.factors):
        row: Row = {"policy": name, "factor": factor.name, "key": factor.key, "low": factor.low, "high": factor.high}
        result = finding.sensitivity
        if isinstance(result, SobolIndices):
            row |= _columns("first", result.first, i) | _columns("total", result.total, i)
        else:
            assert isinstance(result, MorrisEffects)
            row |= _columns("effect", result.size, i)
            row |= {"mean_effect": float(result.mean[i]), "spread": float(result.spread[i])}
        rows.append(row | {"correlation": _correlation(finding, i)})
    measure = "total" if "total" in rows[0] else "effect"
    return sorted(rows, key=lambda row: -1.0 if math.isnan(row[measure]) else -row[measure])


def _columns(name: str, estimate: Any, i: int) -> Row:
    return {
        name: float(estimate.value[i]),
        f"{name}_low": float(estimate.low[i]),
        f"{name}_high": float(estimate.high[i]),
    }


def _correlation(finding: Finding, i: int) -> float:
    """Returns the rank correlation of a factor with the response: the sign is the direction of its effect."""
    from scipy.stats import rankdata

    done = ~np.isnan(finding.response)
    ranks = rankdata(finding.design.points[done, i]), rankdata(finding.response[done])
    return float(np.corrcoef(*ranks)[0, 1]) if np.ptp(ranks[1]) else math.nan


def _point_rows(name: str, finding: Finding) -> list[Row]:
    pairs = zip(finding.design.values, finding.response.tolist(), strict=True)
    return [{"policy": name, "point": i} | values | {"response": y} for i, (values, y) in enumerate(pairs)]


def sensitivity_verdict(rows: list[Row], question: Question) -> str:
    """Returns what drives the metric in a sentence: one factor only where no other interval reaches its own."""
    measure, what = (
        INDEX_COLUMNS[question.method][0],
        "the failure rate" if question.metric == FAILURE else question.metric,
    )
    if math.isnan(rows[0][measure]) and not math.isnan(rows[0][f"{measure}_high"]):
        return f"the episodes are too few to measure how {what} varies: add `episodes` or `study.samples`"
    if math.isnan(rows[0][measure]) or rows[0][measure] == 0:
        return f"{what} is the same at all points, so that no factor drives it"
    words = {"total": "total index", "effect": "effect over its range"}[measure]
    first, *others = rows
    rivals = [row for row in others if row[f"{measure}_high"] >= first[f"{measure}_low"]]
    leaders = [f"{row['factor']} {bounded_column(row, measure, '.2f')}" for row in (first, *rivals)]
    if rivals:
        text = f"which factor drives {what} most is not decided between {', '.join(leaders)} ({words})"
    else:
        text = f"{first['factor']} drives {what} most ({words} {bounded_column(first, measure, '.2f')})"
    # Never -0.00.
    followers = [f"{row['factor']} {round(row[measure], 2) + 0.0:.2f}" for row in others if row not in rivals]
    return text + (f"; then {', '.join(followers)}" if followers else "")


def _table(rows: list[Row], measures: tuple[str, ...]) -> str:
    shown = [row | {f"{name} index": bounded_column(row, name, ".3f") for name in measures} for row in rows]
    if measures == INDEX_COLUMNS["morris"]:
        shown = [row | {"effect [95 %]": row["effect index"]} for row in shown]
        return markdown(
            shown, ["policy", "factor", "low", "high", "effect [95 %]", "mean_effect", "spread", "correlation"]
        )
    return markdown(shown, ["policy", "factor", "low", "high", "first index", "total index", "correlation"])


def _as_dict(
    findings: dict[str, Finding], rows: list[Row], sentences: dict[str, str], question: Question
) -> dict[str, Any]:
    policies = []
    for name, finding in findings.items():
        own = [{k: _json(v) for k, v in row.items() if k != "policy"} for row in rows if row["policy"] == name]
        response = finding.response[finding.response == finding.response]
        spread = {"mean": float(response.mean()), "least": float(response.min()), "most": float(response.max())}
        policies.append(
            {
                "policy": name,
                "verdict": sentences[name],
                "factors": own,
                "response": spread,
                "clean": _json(finding.clean),
            }
        )
    return {"method": question.method, "metric": question.metric, "samples": question.samples, "policies": policies}


def _json(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _methods(finding: Finding, question: Question) -> list[str]:
    what = "the share of failed episodes" if question.metric == FAILURE else f"the mean {question.metric}"
    failure = f"; {failure_words(finding.example, question.threshold)}" if question.metric == FAILURE else ""
    design = {
        "sobol": "A Saltelli design of scrambled Sobol points (SALib). The first index is the share of the variance of "
        "the response that a factor causes alone, the total index that with all its interactions.",
        "morris": "Morris trajectories (SALib). An effect is the change of the response per range; the table "
        "has the mean of its size, its mean and its standard deviation.",
    }[question.method]
    shared = (
        f"The response of a point is {what} over the same {finding.episodes} episodes at all points{failure}. "
        f"Intervals are 95 % percentile intervals of {SENSITIVITY_RESAMPLES} bootstrap resamples of the design and of "
        "the episodes."
    )
    pairs = (
        "Indices use products over pairs of different episodes, so that the noise of few episodes is no interaction."
    )
    return [design, shared, *([pairs] if question.method == "sobol" else [])]


def _limits(question: Question) -> list[str]:
    limits = ["Indices hold for these ranges and for factors that vary independently and uniformly within them."]
    if question.method == "morris":
        limits.append(
            "Few episodes make the effect of a weak factor look larger than it is: Morris ranks, Sobol measures."
        )
    return limits
