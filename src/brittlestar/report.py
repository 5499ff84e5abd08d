"""From a sweep's folder to tables, plot, report and a few lines in the terminal."""

from __future__ import annotations

from pathlib import Path

from brittlestar.cells import load_cells
from brittlestar.plots import measures, plot_curves
from brittlestar.tablefiles import markdown, text, write_tables
from brittlestar.tables import RATES, Row, Tables, aggregate

SHOWN = ("return", "smoothness", "final_distance", "time_to_success")
"""Metrics that the terminal shows beside the measures; the tables hold them all."""
PARTING = 0.1
"""Any-step and final-step success that differ by more than this are pointed out."""


def summarise(folders: list[str], out: Path, mixed: bool = False) -> tuple[Tables, str]:
    """Aggregates sweeps, writes tables, plot and report to `out`, and returns what to print."""
    tables = aggregate(load_cells(folders, mixed))
    write_tables(tables, out)
    left_out = plot_curves(tables.curve, tables.grouping.columns, out / "curve") if tables.curve else []
    shown = _overview(tables)
    notes = remarks(tables) + ([f"the plot leaves {len(left_out)} curves out"] if left_out else [])
    (out / "report.md").write_text(_report(tables, shown, notes))
    files = [
        f"tables  {out}/{{episodes,cells,curve,summary,failures}}.{{csv,parquet,md,json}}",
        f"plot    {out}/curve.png, {out}/curve.pdf" if tables.curve else "",
        f"report  {out}/report.md",
        f"cells   {', '.join(f'{folder}/*/' for folder in folders)}",
    ]
    return tables, "\n\n".join(part for part in (shown, "\n".join(notes), "\n".join(filter(None, files))) if part)


def remarks(tables: Tables) -> list[str]:
    """Says what a reader of the curve should know."""
    notes = []
    for row in tables.summary:
        where = _where(row, tables.grouping.columns)
        if row["incapable"]:
            notes.append(
                f"note: {where}{row['measure']} is {text(row['baseline'])} without perturbation, already below "
                f"{text(row['threshold'])}: incapable, so its critical strength says nothing about robustness"
            )
    parted = [row for row in tables.curve if RATES[0] in measures(row) and row[RATES[0]] - row[RATES[1]] > PARTING]
    if parted:
        worst = max(parted, key=lambda row: row[RATES[0]] - row[RATES[1]])
        notes.append(
            f"note: any-step and final-step success part, most at {worst['strength_name']} = "
            f"{text(worst['strength'])}: {worst[RATES[0]]:.0%} any, {worst[RATES[1]]:.0%} final"
        )
    floor = max((row.get("solved_at_reset") or 0 for row in tables.summary), default=0)
    if floor > 0:
        notes.append(f"note: up to {floor:.1%} of the episodes are solved at reset: a floor under any-step success")
    return notes


def _overview(tables: Tables) -> str:
    if not tables.curve:
        return "no cell has a result"
    varied = _varied(tables)
    found = measures(tables.curve[0])
    name = next((row["strength_name"] for row in tables.curve if row["strength_name"]), "strength")
    metrics = [m for m in SHOWN if m not in found and any(text(row.get(m)) for row in tables.curve)]
    curve = [
        _pick(row, [*varied, "n_seeds", "n_episodes", *metrics]) | {name: row["strength"]} | _bounded(row, found)
        for row in tables.curve
    ]
    numbers = ["critical_interpolated", "slope", "auc", "normalised_auc"]
    summary = [
        _pick(row, [*varied, "measure", "baseline", "incapable", "critical", "worst"]) | _bounded(row, numbers)
        for row in tables.summary
    ]
    first = markdown(curve, [*varied, name, "n_seeds", "n_episodes", *found, *metrics])
    second = markdown(summary, [*varied, "measure", "baseline", "incapable", "critical", *numbers, "worst"])
    return f"{first}\n\n{second}"


def _pick(row: Row, columns: list[str]) -> Row:
    return {column: row.get(column) for column in columns}


def _bounded(row: Row, columns: list[str]) -> Row:
    """Writes numbers with their intervals: `0.88 [0.79, 0.97]`."""
    shown = {}
    for column in columns:
        value, low, high = (text(row[f"{column}{end}"]) for end in ("", "_low", "_high"))
        shown[column] = f"{value or 'none'} [{low}, {high}]" if low not in ("", "inf") else value or "none"
    return shown


def _report(tables: Tables, shown: str, notes: list[str]) -> str:
    fixed = {c: tables.curve[0][c] for c in tables.grouping.columns if c not in _varied(tables)} if tables.curve else {}
    methods = sorted({row[f"{m}_method"] for row in tables.curve for m in measures(row)})
    parts = ["# Degradation curve", "\n".join(f"- {key}: {value}" for key, value in fixed.items())]
    parts += ["![curve](curve.png)"] if tables.curve else []
    parts += [shown, "\n".join(f"- {note}" for note in notes)]
    parts += ["Intervals: " + "; ".join(methods) + "." if methods else ""]
    if tables.summary:
        parts += [f"Summary intervals: {tables.summary[0]['interval_method']}."]
    if tables.failures:
        parts += ["## Failed cells", markdown(tables.failures, ["strength", "seed", "error", "overrides"])]
    return "\n\n".join(part for part in parts if part) + "\n"


def _varied(tables: Tables) -> list[str]:
    return [c for c in tables.grouping.columns if len({row[c] for row in tables.curve}) > 1]


def _where(row: Row, columns: list[str]) -> str:
    return f"{row['policy']} on {row['env']}: " if "policy" in columns else ""
