"""A single run: one cell, with a live line, and its result in the terminal."""

import dataclasses
import time
from pathlib import Path
from typing import Any

from brittlestar.cells import run as cell
from brittlestar.cells.job import Job, Outcome
from brittlestar.cells.store import read_manifest
from brittlestar.perturbations.compose import DELIVERED
from brittlestar.reports.protocol import PROTOCOL, write_protocol
from brittlestar.results.aggregate import Tables, aggregate
from brittlestar.results.baseline_check import objections
from brittlestar.results.format import markdown, text
from brittlestar.results.load import Cell
from brittlestar.sweeps.progress import LiveLine, clock


def run_and_print(job: Job) -> Outcome:
    """Runs a cell and prints what it gave."""
    outcome = _run_with_live_line(job)
    if outcome.status == "failed":
        return outcome
    folder = Path(outcome.folder)
    manifest = read_manifest(folder)
    assert manifest is not None
    recorded = Cell(manifest, folder)
    tables = aggregate([recorded])
    write_protocol(folder, [recorded], tables)
    print(describe(job, outcome, manifest, tables))
    missed = objections([check for _, check in tables.baseline_checks]) if job.config.get("check") == "baseline" else []
    return dataclasses.replace(outcome, status="failed", error="; ".join(missed)) if missed else outcome


def describe(job: Job, outcome: Outcome, manifest: dict[str, Any], tables: Tables) -> str:
    """Returns the result of a finished cell as text."""
    row = tables.curve[0]
    noise = f"{row['perturbation']} {row['strength_name'] or 'strength'} = {text(row['strength'])}"
    episodes = f"seed {job.config['seed']}, {job.config['episodes']} episodes ({outcome.status})"
    lines = [f"{row['policy']} on {row['env']}, {noise}, {episodes}"]
    for phase in tables.curve:
        lines += ["", f"{phase['phase']}, {phase['n_episodes']} episodes" if "phase" in phase else "", ""]
        lines += [_metrics(phase, [name for name in manifest["columns"] if name in tables.cells[0]]), ""]
    # What is in no column: shares of masks and pixels, changes of the model, parts of a composition.
    effects = {name: value for name, value in manifest["delivery"].items() if name not in manifest["columns"]}
    delivered = [f"{name.removeprefix(DELIVERED)} {text(value)}" for name, value in effects.items()]
    lines += [f"delivered: {', '.join(delivered)}"] if delivered else []
    method = next((row[key] for key in row if key.endswith("_method")), row["metric_interval"])
    lines += [f"intervals: {method}; other metrics: {row['metric_interval']}", f"cell {outcome.folder}"]
    lines.append(f"protocol {Path(outcome.folder) / PROTOCOL}")
    lines += [str(check) for _, check in tables.baseline_checks]
    lines += [f"note: {note}" for note in manifest.get("notes", ())]
    return "\n".join(lines)


def _metrics(row: dict[str, Any], names: list[str]) -> str:
    rows = [
        {"metric": name, "mean": row[name], "low": row.get(f"{name}_low"), "high": row.get(f"{name}_high")}
        for name in names
        if name != "phase" and text(row.get(name))
    ]
    return markdown(rows, ["metric", "mean", "low", "high"])


def _run_with_live_line(job: Job) -> Outcome:
    line, started, total = LiveLine(), time.monotonic(), job.config["episodes"]

    def show(done: int) -> None:
        if line.is_due:
            left = (total - done) * (time.monotonic() - started) / done
            line.draw(f"{done}/{total} episodes, {clock(left)} left")

    outcome = cell.run(job, show)
    line.close(clear=True)
    return outcome
