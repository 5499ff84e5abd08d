"""Writes what hardening found: tables, report and `result.json`, and what the terminal shows."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import Any

from brittlestar.cells.files import write_file
from brittlestar.reports.summary import remarks, summarise
from brittlestar.results.format import bounded, bounded_column, markdown, text
from brittlestar.results.load import Row
from brittlestar.studies.hardening.choice import Choice
from brittlestar.studies.hardening.study import AFTER, BEFORE, Study
from brittlestar.studies.hardening.verdict import NUMBERS, SIGNED, Verdict, critical_text, headline, judge

GAINS, CURVES, RESULT = "gains", "before_after", "result.json"


def conclude(study: Study, choice: Choice, trained: Path, why: str) -> str:
    """Writes everything into the folder of a hardening, and returns what to print.

    Args:
        study: what was hardened.
        choice: the training strength.
        trained: folder of the training.
        why: the algorithm was chosen.
    """
    folder = study.folder
    tables, _ = summarise([str(folder / BEFORE), str(folder / AFTER)], folder)
    verdict = judge(study, tables)
    lines, notes = headline(study, verdict), remarks(tables)
    if not verdict.paired:
        notes.append("note: the episodes before and after differ, so the tests are unpaired")
    gains, curves = _gains(study, verdict), _curves(study, verdict)
    _write(folder / GAINS, verdict.gains, gains)
    _write(folder / CURVES, verdict.curves, curves)
    facts = _facts(study, choice, trained, why)
    told = "\n".join(f"- {key}: {value}" for key, value in facts.items())
    parts = ["# Hardening", told, "\n".join(f"- {line}" for line in lines), "![curve](curve.png)"]
    parts += ["## Gain at every level", gains, _methods(verdict.gains)]
    parts += ["## Before and after", curves, _methods(verdict.curves)]
    body = (folder / "report.md").read_text().partition("\n")[2].replace("![curve](curve.png)\n\n", "").strip()
    (folder / "report.md").write_text("\n\n".join([*parts, "## Degradation curves", body]) + "\n")
    _write_result(folder / RESULT, facts, choice, verdict, lines)
    files = [
        f"tables  {folder}/{{{GAINS},{CURVES}}}.{{csv,md}}, {folder}/{{episodes,cells,curve,summary}}.csv",
        f"plot    {folder}/curve.png, {folder}/curve.pdf",
        f"report  {folder}/report.md, {folder}/{RESULT}",
        f"policy  {facts['hardened policy']}",
    ]
    shown = [gains, curves, "\n".join([*lines, *notes]), "\n".join(files)]
    return "\n\n".join(shown)


def _facts(study: Study, choice: Choice, trained: Path, why: str) -> dict[str, Any]:
    metadata = json.loads((trained / "metadata.json").read_text())
    config = study.config
    path = config["policy"].get("path")
    return {
        "environment": config["env"]["id"],
        "policy": study.choices["policy"] + (f" ({path})" if path else ""),
        "perturbation": study.choices["perturbation"],
        "mitigation": study.choices["mitigation"],
        "stress schedule": study.choices["stress_schedule"],
        "levels": ", ".join(text(float(level)) for level in study.levels),
        "episodes": f"{config['episodes']} for each of the seeds {', '.join(map(str, config['seeds']))}",
        "trained at": f"{study.strength} = {text(float(choice.level))} ({choice.reason})",
        "algorithm": f"{metadata['algorithm']} ({why}), {metadata['steps']:,} steps, seed {config['train_seed']}",
        "hardened policy": f"{trained}/{config['checkpoint']}/policy.zip",
    }


def _gains(study: Study, verdict: Verdict) -> str:
    rows = [
        row | {study.strength: row["strength"], "gain": bounded(row["gain"], row["low"], row["high"], *SIGNED)}
        for row in verdict.gains
    ]
    return markdown(rows, ["measure", study.strength, "before", "after", "gain", "p", "p_holm", "n"])


def _curves(study: Study, verdict: Verdict) -> str:
    rows = []
    for row in verdict.curves:
        shown = {name: bounded_column(row, name, missing="none") for name in NUMBERS}
        rows.append(row | shown | {f"critical {study.strength}": critical_text(row, study.levels)})
    sides = [key for key in ("phase", "direction") if key in verdict.curves[0]]
    return markdown(rows, ["measure", "policy", *sides, "clean", f"critical {study.strength}", *NUMBERS[1:]])


def _methods(rows: list[Row]) -> str:
    return "Methods: " + "; ".join(dict.fromkeys(row["method"] for row in rows)) + "."


def _write(path: Path, rows: list[Row], shown: str) -> None:
    with open(path.with_suffix(".csv"), "w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    path.with_suffix(".md").write_text(shown + "\n")


def _write_result(path: Path, facts: dict[str, Any], choice: Choice, verdict: Verdict, lines: list[str]) -> None:
    measures = list(verdict.areas)
    result = {
        "setup": facts,
        "choice": vars(choice),
        "measure": measures[0],
        "paired": verdict.paired,
        "clean_cost": {measure: verdict.clean_cost(measure) for measure in measures},
        "gains": verdict.gains,
        "curves": verdict.curves,
        "normalised_auc_gain": verdict.areas,
        "verdict": lines,
    }
    write_file(path, json.dumps(_plain(result), indent=1, allow_nan=False) + "\n")


def _plain(node: Any) -> Any:
    """Writes what JSON has no number for: null for what is not known, text for infinity."""
    if isinstance(node, dict):
        return {key: _plain(value) for key, value in node.items()}
    if isinstance(node, list):
        return [_plain(value) for value in node]
    if isinstance(node, float) and not math.isfinite(node):
        return None if math.isnan(node) else str(node)
    return node
