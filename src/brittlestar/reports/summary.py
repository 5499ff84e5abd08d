"""From a sweep's folder to tables, plot, report and a few lines in the terminal."""

from __future__ import annotations

import contextlib
import dataclasses
import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from brittlestar.errors import UserError
from brittlestar.reports.curves import measures, plot_curves
from brittlestar.reports.grids import plot_heatmap, plot_sheets
from brittlestar.reports.sections import analyse
from brittlestar.results.aggregate import Tables, aggregate, failure_groups
from brittlestar.results.baseline_check import ABOVE, MISMATCH, not_compared
from brittlestar.results.format import bounded_column, markdown, text
from brittlestar.results.load import RATES, Cell, Grouping, Row, load_cells, sort_key
from brittlestar.results.write import write_tables

SHOWN = (
    "return", "smoothness", "final_distance", "time_to_success", "time_to_failure", "recovery_time",
    "action_divergence", "instability",
)  # fmt: skip
"""Metrics that the terminal shows beside the measures; the tables hold them all."""
PARTING = 0.1
"""Any-step and final-step success that differ by more than this are pointed out."""
SHOWN_ROWS = 200
SHOWN_NOTES = 5
SHOWN_NAMES = 50
_MISSED = (
    "These policies miss their recorded return before anything disturbs them: their curves say nothing of robustness."
)


@contextlib.contextmanager
def _no_garbage() -> Iterator[None]:
    """Stops the garbage collector: rows by the million are none, and searching them takes a tenth of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@_no_garbage()
def summarise(
    folders: list[str], out: Path, mixed: bool = False, settings: dict[str, Any] | None = None
) -> tuple[Tables, str]:
    """Aggregates sweeps, writes tables, plots and report to `out`, and returns what to print.

    Args:
        folders: of the sweeps.
        out: where to write.
        mixed: allow sweeps of different environments or perturbations.
        settings: fields of the study, in place of those that the cells were run with.
    """
    every = load_cells(folders, mixed)
    cells = [cell for cell in every if cell.role is None]
    tables = as_swept(aggregate(cells + [cell for cell in every if cell.role is not None and not cell.done]), cells)
    try:
        write_tables(tables, out)
        sections = analyse(every, out, settings)
        # What a study shows at one strength is no curve.
        curve = tables.curve if not sections or _is_swept(tables) else []
        pictures, left_out = _plot(tables, curve, out)
        missed, notes = mismatches(tables), beside_records(tables) + (remarks(tables) if curve else []) + left_out
        shown = "\n\n".join(section.body for section in sections) or _overview(tables)
        pictures = [name for section in sections for name in section.pictures] + pictures
        title = sections[0].title if sections else "Degradation curve"
        (out / "report.md").write_text(_report(title, tables, shown, notes, missed, pictures))
    except OSError as error:
        raise UserError(f"cannot write to {out}: {error.strerror or error}") from None
    files = [
        f"tables  {out}/{{episodes,cells,curve,summary,failures}}.{{csv,parquet,md,json}}",
        *(f"        {out}/{{{','.join(s.tables)}}}.{{csv,parquet,md,json}}" for s in sections if s.tables),
        *(f"{'' if i else 'plot':<8}{out}/{name}.png, {out}/{name}.pdf" for i, name in enumerate(pictures)),
        f"report  {out}/report.md",
        f"cells   {', '.join(f'{folder}/*/' for folder in folders)}",
    ]
    return tables, "\n\n".join(part for part in (shown, "\n".join(missed + notes), "\n".join(files)) if part)


def _plot(tables: Tables, curve: list[Row], out: Path) -> tuple[list[str], list[str]]:
    """Draws the pictures of a sweep; returns their names, and notes on what did not fit on them."""
    notes = _left_out("curve", plot_curves(curve, tables.grouping.columns, out / "curve"))
    pictures = ["curve"] * bool(curve)
    for kind, plot in (("heatmap", plot_heatmap), ("sheet", plot_sheets)):
        drawn, left_out = plot(dataclasses.replace(tables, curve=curve), out)
        pictures, notes = pictures + drawn, notes + _left_out(kind, left_out)
    return pictures, notes


def as_swept(tables: Tables, cells: list[Cell]) -> Tables:
    """Orders all rows as the sweep names the options; numbers stay by size.

    Args:
        tables: of the cells.
        cells: in the order of the sweep.
    """
    columns = tables.grouping.columns
    named = [(c, values.get(c)) for values in (*(cell.flat for cell in cells), *tables.curve) for c in columns]
    ranks = {place: rank for rank, place in enumerate(dict.fromkeys(named))}

    def key(row: Row) -> list[tuple]:
        return sort_key(ranks.get((c, row[c])) if isinstance(row[c], str) else row[c] for c in columns)

    labelled = list(zip(tables.grouping.labels, tables.finished, strict=True))
    labelled.sort(key=lambda pair: key(dict(zip(columns, pair[0], strict=True))))
    return dataclasses.replace(
        tables,
        **{name: sorted(getattr(tables, name), key=key) for name in ("cells", "curve", "summary", "failures")},
        finished=[cell for _, cell in labelled],
        grouping=Grouping(columns, [label for label, _ in labelled]),
    )


def _left_out(picture: str, names: list[str]) -> list[str]:
    if not names:
        return []
    more = f" and {len(names) - SHOWN_NAMES} more" if len(names) > SHOWN_NAMES else ""
    return [f"note: {picture} leaves {len(names)} out, the tables hold them: {'; '.join(names[:SHOWN_NAMES])}{more}"]


def _is_swept(tables: Tables) -> bool:
    """Whether something was measured at more than one strength."""
    labels = [tuple(row[column] for column in tables.grouping.columns) for row in tables.curve]
    return len(set(labels)) < len(labels)


def models_table(tables: Tables) -> str:
    """Says which models load and run, and why the others do not."""
    rows = [{"model": _model(cell), "env": cell.config["env"].get("id"), "runs": "yes"} for cell in tables.finished]
    columns = [list(cell.manifest["columns"]).index("length") for cell in tables.finished]
    for row, cell, column in zip(rows, tables.finished, columns, strict=True):
        row["steps"] = int(cell.rows()[:, column].sum())
    for row in tables.failures:
        rows.append({"model": row.get("model") or row["overrides"], "runs": "NO", "why": row["error"]})
    return markdown(rows, ["model", "env", "runs", "steps"] + ["why"] * bool(tables.failures))


def _model(cell: Cell) -> str:
    policy = cell.config["policy"]
    return str(cell.config.get("model") or policy.get("path") or cell.choice("policy"))


def mismatches(tables: Tables) -> list[str]:
    """Returns a note for each policy that misses its recorded return before anything disturbs it."""
    return _check_notes(tables, MISMATCH)


def beside_records(tables: Tables) -> list[str]:
    """Returns notes on policies above their record, and one if the time limit forbids to compare."""
    limits = not_compared([check for _, check in tables.baseline_checks])
    return _check_notes(tables, ABOVE) + [f"note: {line}" for line in limits]


def _check_notes(tables: Tables, status: str) -> list[str]:
    varied = _varied(tables)
    return [
        f"note: {_where(label, varied)}{check}" for label, check in tables.baseline_checks if check.status == status
    ]


def remarks(tables: Tables) -> list[str]:
    """Says what a reader of the curve should know."""
    varied = _varied(tables)
    incapable = [row for row in tables.summary if row["incapable"]]
    notes = [_incapable(row, varied) for row in incapable[:SHOWN_NOTES]]
    if len(incapable) > SHOWN_NOTES:
        notes.append(f"note: {len(incapable) - SHOWN_NOTES} more are incapable, see summary.csv")
    parted = [row for row in tables.curve if RATES[0] in measures(row) and row[RATES[0]] - row[RATES[1]] > PARTING]
    if parted:
        worst = max(parted, key=lambda row: row[RATES[0]] - row[RATES[1]])
        notes.append(
            f"note: any-step and final-step success part, most at {_where(worst, varied)}{_at(worst, 'strength')}: "
            f"{worst[RATES[0]]:.0%} any, {worst[RATES[1]]:.0%} final"
        )
    floor = max((row.get("solved_at_reset") or 0 for row in tables.summary), default=0)
    if floor > 0:
        notes.append(f"note: up to {floor:.1%} of the episodes are solved at reset: a floor under any-step success")
    return notes


def _overview(tables: Tables) -> str:
    if not tables.curve:
        return "no cell has a result"
    varied, names = _varied(tables), {row["strength_name"] for row in tables.curve}
    # Under one name the strength is called by it; under several, each row says which.
    strength = ["strength_name", "strength"] if len(names) > 1 else [next(iter(names)) or "strength"]
    found = list(dict.fromkeys(measure for row in tables.curve for measure in measures(row)))
    metrics = [m for m in SHOWN if m not in found and any(text(row.get(m)) for row in tables.curve)]
    curve = [row | {strength[-1]: row["strength"]} | _with_intervals(row, found) for row in tables.curve[:SHOWN_ROWS]]
    numbers = ["critical_interpolated", "slope", "auc", "normalised_auc"]
    summary = [row | _with_intervals(row, numbers) for row in tables.summary[:SHOWN_ROWS]]
    parts = [markdown(curve, [*varied, *strength, "n_seeds", "n_episodes", *found, *metrics])]
    parts += _more(tables.curve, "curve")
    checked = ["baseline_check"] if any("baseline_check" in row for row in summary) else []
    columns = [*varied, "measure", "baseline", *checked, "incapable", "critical", *numbers, "worst"]
    parts += [markdown(summary, columns)]
    return "\n\n".join(parts + _more(tables.summary, "summary"))


def _with_intervals(row: Row, columns: list[str]) -> Row:
    return {name: bounded_column(row, name, missing="none" if name in row else "") for name in columns}


def _more(rows: list[Row], table: str) -> list[str]:
    return [f"{len(rows) - SHOWN_ROWS} more rows in {table}.csv"] if len(rows) > SHOWN_ROWS else []


def _report(title: str, tables: Tables, shown: str, notes: list[str], missed: list[str], pictures: list[str]) -> str:
    fixed = {c: tables.curve[0][c] for c in tables.grouping.columns if c not in _varied(tables)} if tables.curve else {}
    methods = sorted({row[f"{m}_method"] for row in tables.curve for m in measures(row)})
    parts = [f"# {title}"]
    if missed:
        parts += [
            f"**Warning: {MISMATCH}.** {_MISSED}",
            "\n".join(f"- {note.removeprefix('note: ')}" for note in missed),
        ]
    parts += ["\n".join(f"- {key}: {value}" for key, value in fixed.items())]
    parts += [f"![{name}]({name}.png)" for name in pictures]
    parts += [shown, "\n".join(f"- {note}" for note in notes)]
    parts += ["Intervals: " + "; ".join(methods) + "." if methods else ""]
    summaries = sorted({row["interval_method"] for row in tables.summary})
    parts += ["Summary intervals: " + "; ".join(summaries) + "." if summaries else ""]
    if tables.failures:
        groups = markdown(failure_groups(tables.failures)[:SHOWN_ROWS], ["cells", "error", "overrides", "first"])
        parts += ["## Failed cells", groups, "One row per cell: failures.csv."]
    return "\n\n".join(part for part in parts if part) + "\n"


def _varied(tables: Tables) -> list[str]:
    return [c for c in tables.grouping.columns if len({row[c] for row in tables.curve}) > 1]


def _incapable(row: Row, varied: list[str]) -> str:
    return (
        f"note: {_where(row, varied)}{row['measure']} is {text(row['baseline'])} at {_at(row, 'baseline_strength')}, "
        f"already below {text(row['threshold'])}: incapable, so its critical strength says nothing about robustness"
    )


def _where(row: Row, varied: list[str]) -> str:
    # A verdict on a policy has nothing where its curves differ.
    return "".join(f"{column} = {text(row[column])}, " for column in varied if row[column] is not None)


def _at(row: Row, strength: str) -> str:
    return f"{row['strength_name'] or 'strength'} = {text(row[strength])}"
