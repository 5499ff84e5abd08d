"""A single run: one cell, with a live line, and its result in the terminal."""

import dataclasses
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from brittlestar.cells.job import Job, Outcome
from brittlestar.errors import counted
from brittlestar.perturbations.compose import DELIVERED
from brittlestar.reports.notes import on_servers
from brittlestar.reports.protocol import PROTOCOL, write_protocol
from brittlestar.reports.terminal_text import print_text
from brittlestar.results.aggregate import Tables, aggregate
from brittlestar.results.baseline_check import objections
from brittlestar.results.format import markdown, text
from brittlestar.results.load import read_cells
from brittlestar.sweeps.backend_notes import print_backends
from brittlestar.sweeps.index import INDEX
from brittlestar.sweeps.launch import run_into
from brittlestar.sweeps.progress import LiveLine, clock


def run_and_print(job: Job, folder: Path) -> Outcome:
    """Runs a cell, records it in a folder, and prints what it gave."""
    outcome = _run_with_live_line(job, folder)
    if outcome.status == "failed":
        return outcome
    (recorded,) = read_cells(folder)
    tables = aggregate([recorded])
    write_protocol(folder, [recorded], tables)
    print_text(describe(job, outcome, recorded.manifest, tables))
    print(f"cell {folder / INDEX}\nprotocol {folder / PROTOCOL}")
    missed = objections([check for _, check in tables.baseline_checks]) if job.config.get("check") == "baseline" else []
    return dataclasses.replace(outcome, status="failed", error="; ".join(missed)) if missed else outcome


def describe(job: Job, outcome: Outcome, manifest: Mapping[str, Any], tables: Tables) -> str:
    """Returns the result of a finished cell as text."""
    row = tables.curve[0]
    noise = f"{row['perturbation']} {row['strength_name'] or 'strength'} = {text(row['strength'])}"
    episodes = f"seed {job.config['seed']}, {counted(job.config['episodes'], 'episode')} ({outcome.status})"
    lines = [f"{row['policy']} on {row['env']}, {noise}, {episodes}"]
    for phase in tables.curve:
        lines += ["", f"{phase['phase']}, {counted(phase['n_episodes'], 'episode')}" if "phase" in phase else "", ""]
        lines += [_metrics(phase, [name for name in manifest["columns"] if name in tables.cells.columns()]), ""]
    # What is in no column: shares of masks and pixels, changes of the model, parts of a composition.
    effects = {name: value for name, value in manifest["delivery"].items() if name not in manifest["columns"]}
    delivered = [f"{name.removeprefix(DELIVERED)} {text(value)}" for name, value in effects.items()]
    lines += [f"delivered: {', '.join(delivered)}"] if delivered else []
    method = next((row[key] for key in row if key.endswith("_method")), row["metric_interval"])
    lines.append(f"intervals: {method}; other metrics: {row['metric_interval']}")
    lines += [str(check) for _, check in tables.baseline_checks]
    lines += [*(f"note: {note}" for note in manifest.get("notes", ())), *on_servers(tables)]
    return "\n".join(lines)


def _metrics(row: dict[str, Any], names: list[str]) -> str:
    rows = [
        {"metric": name, "mean": row[name], "low": row.get(f"{name}_low"), "high": row.get(f"{name}_high")}
        for name in names
        if name != "phase" and text(row.get(name))
    ]
    return markdown(rows, ["metric", "mean", "low", "high"])


def _run_with_live_line(job: Job, folder: Path) -> Outcome:
    line, started, total = LiveLine(), time.monotonic(), job.config["episodes"]

    def show(done: int) -> None:
        if done == 1:
            print_backends([job])
        if line.is_due:
            left = (total - done) * (time.monotonic() - started) / done
            line.draw(f"{done}/{total} episodes, {clock(left)} left")

    try:
        return run_into(folder, job, show)
    finally:
        # An interruption has a line of its own.
        line.close(clear=True)
