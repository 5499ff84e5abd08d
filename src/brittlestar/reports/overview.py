"""The tables of a sweep as a person reads them: curve and summary with intervals, or a list of models."""

from brittlestar.reports.notes import varied_columns
from brittlestar.results.aggregate import Tables
from brittlestar.results.format import bounded_column, markdown, text
from brittlestar.results.load import Row
from brittlestar.results.rows import measures
from brittlestar.results.servers import REPEATABLE

MOST_ROWS = 200
"""Rows of a table in the terminal and in the report; the files hold them all."""
OVERVIEW_METRICS = (
    "return", "smoothness", "final_distance", "collision_any", "time_to_success", "time_to_failure", "recovery_time",
    "action_divergence", "instability",
)  # fmt: skip
"""Metrics next to the measures; the files hold them all."""
_SHAPES = ("critical_interpolated", "slope", "auc", "normalised_auc")


def sweep_overview(tables: Tables) -> str:
    """Returns curve and summary as Markdown."""
    if not tables.curve:
        return "no cell has a result"
    varied, strengths = varied_columns(tables), {row["strength_name"] for row in tables.curve}
    # One name of the strength heads its column; several names have a column of their own.
    strength = ["strength_name", "strength"] if len(strengths) > 1 else [next(iter(strengths)) or "strength"]
    names = list(dict.fromkeys(measure for row in tables.curve for measure in measures(row)))
    metrics = [m for m in OVERVIEW_METRICS if m not in names and any(text(row.get(m)) for row in tables.curve)]
    curve = [row | {strength[-1]: row["strength"]} | _bounded(row, names) for row in tables.curve[:MOST_ROWS]]
    summary = [row | _bounded(row, _SHAPES) for row in tables.summary[:MOST_ROWS]]
    # Without strength 0 there is no baseline.
    heads = ("baseline", "baseline_check", "incapable", REPEATABLE)
    start = [c for c in heads if any(c in row for row in tables.summary)]
    columns = [*varied, "measure", *start, "critical", *_SHAPES, "worst"]
    parts = [markdown(curve, [*varied, *strength, "n_seeds", "n_episodes", *names, *metrics])]
    parts += [*_more(tables.curve, "curve"), markdown(summary, columns), *_more(tables.summary, "summary")]
    return "\n\n".join(parts)


def models_table(tables: Tables) -> str:
    """Returns which models load and run, and why the others do not, as Markdown."""
    rows: list[Row] = []
    for cell in tables.finished:
        model = cell.config.get("model") or cell.config["policy"].get("path") or cell.choice("policy")
        steps = int(cell.column("length").sum())
        rows.append({"model": model, "env": cell.config["env"].get("id"), "runs": "yes", "steps": steps})
    for row in tables.failures:
        rows.append({"model": row.get("model") or row["overrides"], "runs": "NO", "why": row["error"]})
    return markdown(rows, ["model", "env", "runs", "steps"] + ["why"] * bool(tables.failures))


def _bounded(row: Row, columns: tuple[str, ...] | list[str]) -> Row:
    return {column: bounded_column(row, column, missing="none" if column in row else "") for column in columns}


def _more(rows: list[Row], table: str) -> list[str]:
    return [f"{len(rows) - MOST_ROWS} more rows in {table}.csv"] if len(rows) > MOST_ROWS else []
