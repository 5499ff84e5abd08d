"""The section of a report on stress phases, with its tables and pictures."""

from pathlib import Path

from brittlestar.errors import UserError
from brittlestar.reports.sections import Section
from brittlestar.results.format import bounded_column, markdown, text
from brittlestar.results.load import Cell, Row
from brittlestar.results.write import write_rows
from brittlestar.studies.stress.agents import score_agents, split_passes
from brittlestar.studies.stress.compat_channels import CHANNELS
from brittlestar.studies.stress.plots import plot_stress
from brittlestar.studies.stress.runs import is_silent, run_rows
from brittlestar.studies.stress.tables import PHASE_RATES, StressTables, stress_tables

_HEADS = {
    "rate_pre": "CR_pre", "false_alarms": "FPR", "rate_shock": "CR_shock", "excess": "CR_shock - FPR",
    "rate_post": "CR_post", "identity_drop": "ΔI", "return_drop": "return drop", "cvar_25": "CVaR 25 %",
    "recovery_episodes": "recovery",
}  # fmt: skip
"""Columns of the printed table, and their heads there; the file holds more."""
_SILENT = [_HEADS[name] for name in (*PHASE_RATES[1:], "excess", "identity_drop", "recovery_episodes")]


def stress_sections(cells: list[Cell], out: Path, scoring: str, alpha: float) -> list[Section]:
    """Scores the cells of a sweep and writes tables and pictures to `out`; without finished cells there is nothing."""
    recorded, passes = split_passes(cells)
    if not recorded:
        if any(cell.done and cell.role is None for cell in cells):
            raise UserError("no behaviour was recorded for `study=stress`: run the sweep again with `record=behaviour`")
        return []
    agents = score_agents(recorded, passes, scoring, alpha)
    tables = stress_tables(agents, scoring, alpha)
    files = {"stress": tables.stress, "stress_runs": run_rows(agents, scoring), "stress_episodes": tables.episodes}
    for name, rows in files.items():
        write_rows(rows, out / name)
    return [Section("Stress phases", _overview(tables), plot_stress(tables, out), list(files))]


def _overview(tables: StressTables) -> str:
    """Returns the tables as Markdown: rates and drops, then the drops of the channels."""
    names = list(tables.stress[0])
    labels = [name for name in names[: names.index("n_seeds")] if name != "strength_name"]
    varied = [name for name in labels if len({row[name] for row in tables.stress}) > 1]
    rates = markdown(
        [row | _heads(row) for row in tables.stress], [*varied, "n_seeds", *_HEADS.values(), "p", "verdict"]
    )
    drops = [{f"{name} drop": _bounded(row, f"{name}_drop") for name in CHANNELS} for row in tables.stress]
    channels = markdown([row | drop for row, drop in zip(tables.stress, drops, strict=True)], [*varied, *drops[0]])
    line = f"scoring {tables.scoring}"
    if tables.scoring == "rigorous":
        line += f": an episode without stress is an event with probability at most {tables.alpha:g}"
    return "\n\n".join([line, rates, channels])


def _heads(row: Row) -> Row:
    heads: Row = {head: _bounded(row, name) for name, head in _HEADS.items()} | {"p": row["p_holm"]}
    # Identical actions are no collapse, whatever a scoring makes of the rewards.
    return heads | dict.fromkeys(_SILENT, "–") if is_silent(row) else heads


def _bounded(row: Row, name: str) -> str:
    return bounded_column(row, name, lambda value: text(float(f"{value:.3g}")))
