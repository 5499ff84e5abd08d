"""Hardening as a study: every cell once more with the retrained policy, and sections on gains and costs."""

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from brittlestar.cells.files import write_file
from brittlestar.cells.job import Job
from brittlestar.checkpoints.file_names import POLICY
from brittlestar.reports.sections import Section
from brittlestar.results.aggregate import aggregate
from brittlestar.results.format import bounded, bounded_column, critical_text, markdown, text
from brittlestar.results.load import Cell, Row
from brittlestar.results.write import write_rows
from brittlestar.studies.base import Study
from brittlestar.studies.hardening.choice import Choice
from brittlestar.studies.hardening.gains import SHAPES, SIGNED, Gains, compare_sides, headline
from brittlestar.studies.hardening.retraining import hardened_policy
from brittlestar.studies.hardening.setup import AFTER, Setup
from brittlestar.training.folder import METADATA

RESULT = "result.json"
_GAINS, _CURVES = "gains", "before_after"


@dataclass
class Hardening(Study):
    """Compares a policy with one that was retrained under a perturbation, on the same episodes."""

    setup: Setup
    choice: Choice
    trained: Path
    """Folder of the training."""
    why: str
    """Reason for its algorithm."""

    def extra_cells(self, cells: Iterable[Job]) -> list[Job]:
        """Returns each cell once more, with the hardened policy."""
        policy = hardened_policy(self.trained, self.setup.config["checkpoint"])
        words = ["policy=sb3", f"policy.path={policy['path']}", f"model={AFTER}"]
        return [
            replace(
                cell,
                config=cell.config | {"policy": policy, "model": AFTER},
                choices=cell.choices | {"policy": "sb3"},
                overrides=[*cell.overrides, *words],
            )
            for cell in cells
        ]

    def analyse(self, cells: list[Cell], out: Path) -> list[Section]:
        """Writes `gains`, `before_after` and `result.json`, and returns a section on each and one on top."""
        gains = compare_sides(out, aggregate(cells).summary, self.setup.measure)
        lines, facts = headline(self.setup, gains), self._facts()
        conclusion = ("Hardening", lines[-1])
        if not gains.paired:
            lines.append("note: the episodes before and after differ, so the tests are unpaired")
        tables = {_GAINS: (gains.levels, self._gains(gains)), _CURVES: (gains.curves, self._curves(gains))}
        for name, (rows, body) in tables.items():
            write_rows(rows, out / name)
            (out / name).with_suffix(".md").write_text(body + "\n")
        _write_result(out / RESULT, facts, self.choice, gains, lines)
        top = ["\n".join(f"- {key}: {value}" for key, value in facts.items()), "\n".join(f"- {line}" for line in lines)]
        limit = (
            f"The training ran once, with seed {self.setup.config['train_seed']}: other seeds may gain less or more."
        )
        levels, curves = _methods(gains.levels), _methods(gains.curves)
        return [
            Section("Hardening", "\n\n".join(top), ["curve"], limits=[limit], findings=[conclusion]),
            Section(
                "Gain at every level", f"{tables[_GAINS][1]}\n\nMethods: {levels}", tables=[_GAINS],
                methods=[f"Gains: {levels}"],
            ),
            Section("Before and after", f"{tables[_CURVES][1]}\n\nMethods: {curves}", tables=[_CURVES]),
        ]  # fmt: skip

    def _facts(self) -> dict[str, Any]:
        metadata = json.loads((self.trained / METADATA).read_text())
        config, choices = self.setup.config, self.setup.choices
        path = config["policy"].get("path")
        return {
            "environment": config["env"]["id"],
            "policy": choices["policy"] + (f" ({path})" if path else ""),
            "perturbation": choices["perturbation"],
            "mitigation": choices["mitigation"],
            "stress schedule": choices["stress_schedule"],
            "levels": ", ".join(text(float(level)) for level in self.setup.levels),
            "episodes": f"{config['episodes']} for each of the seeds {', '.join(map(str, config['seeds']))}",
            "trained at": f"{self.setup.strength} = {text(float(self.choice.level))} ({self.choice.reason})",
            "algorithm": f"{metadata['algorithm']} ({self.why}), {metadata['steps']:,} steps, "
            f"seed {config['train_seed']}",
            "hardened policy": f"{self.trained}/{config['checkpoint']}/{POLICY}",
        }

    def _gains(self, gains: Gains) -> str:
        strength = self.setup.strength
        rows = [
            row | {strength: row["strength"], "gain": bounded(row["gain"], row["low"], row["high"], *SIGNED)}
            for row in gains.levels
        ]
        return markdown(rows, ["measure", strength, "before", "after", "gain", "p", "p_holm", "n"])

    def _curves(self, gains: Gains) -> str:
        critical = f"critical {self.setup.strength}"
        rows = [
            row
            | {name: bounded_column(row, name, missing="none") for name in SHAPES}
            | {critical: critical_text(row, self.setup.levels)}
            for row in gains.curves
        ]
        sides = [key for key in ("phase", "direction") if key in gains.curves[0]]
        return markdown(rows, ["measure", "policy", *sides, "clean", critical, *SHAPES[1:]])


def _methods(rows: list[Row]) -> str:
    return "; ".join(dict.fromkeys(row["method"] for row in rows)) + "."


def _write_result(path: Path, facts: dict[str, Any], choice: Choice, gains: Gains, lines: list[str]) -> None:
    measures = list(gains.areas)
    result = {
        "setup": facts,
        "choice": vars(choice),
        "measure": measures[0],
        "paired": gains.paired,
        "clean_cost": {measure: gains.clean_cost(measure) for measure in measures},
        "gains": gains.levels,
        "curves": gains.curves,
        "normalised_auc_gain": gains.areas,
        "verdict": lines,
    }
    write_file(path, json.dumps(_finite(result), indent=1, allow_nan=False) + "\n")


def _finite(node: Any) -> Any:
    """Replaces numbers that JSON cannot hold: nan by null, infinity by text."""
    if isinstance(node, dict):
        return {key: _finite(value) for key, value in node.items()}
    if isinstance(node, list):
        return [_finite(value) for value in node]
    if isinstance(node, float) and not math.isfinite(node):
        return None if math.isnan(node) else str(node)
    return node
