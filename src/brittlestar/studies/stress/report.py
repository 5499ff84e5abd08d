"""Writes tables and pictures of a stress study, and says what they show."""

from __future__ import annotations

from pathlib import Path

from brittlestar.reports.sections import Section
from brittlestar.results.load import Cell, Row
from brittlestar.studies.stress.agents import score_agents, split_passes
from brittlestar.studies.stress.compat_channels import CHANNELS
from brittlestar.studies.stress.runs import run_rows
from brittlestar.studies.stress.tables import PHASE_RATES, StressTables, stress_tables

HEADS = {
    "rate_pre": "CR_pre",
    "false_alarms": "FPR",
    "rate_shock": "CR_shock",
    "excess": "CR_shock - FPR",
    "rate_post": "CR_post",
    "identity_drop": "ΔI",
    "return_drop": "return drop",
    "cvar_25": "CVaR 25 %",
    "recovery_episodes": "recovery",
}
"""Columns of the printed table, as they are called there; the file holds more."""


def stress_section(cells: list[Cell], out: Path, scoring: str, alpha: float) -> Section | None:
    """Scores the cells of a sweep and writes tables and pictures to `out`; None where no behaviour was recorded.

    Args:
        cells: of the sweep, with their reference passes.
        out: where to write.
        scoring: one of `SCORINGS`.
        alpha: accepted false-alarm rate of the rigorous one.
    """
    recorded, passes = split_passes(cells)
    if not recorded:
        return None
    agents = score_agents(recorded, passes, scoring, alpha)
    tables = stress_tables(agents, scoring, alpha)
    from brittlestar.results.write import write_rows
    from brittlestar.studies.stress.plots import plot_stress

    files = {"stress": tables.stress, "stress_runs": run_rows(agents, scoring), "stress_episodes": tables.episodes}
    for name, rows in files.items():
        write_rows(rows, out / name)
    return Section("Stress phases", overview(tables), plot_stress(tables, out), list(files))


def overview(tables: StressTables) -> str:
    """Returns the tables as text: rates and drops, then the drops of the channels."""
    from brittlestar.results.format import markdown

    varied = [name for name in _labels(tables.stress) if len({row[name] for row in tables.stress}) > 1]
    shown = [row | _heads(row) for row in tables.stress]
    first = markdown(shown, [*varied, "n_seeds", *HEADS.values(), "p", "verdict"])
    drops = [{f"{name} drop": _bounded(row, f"{name}_drop") for name in CHANNELS} for row in tables.stress]
    second = markdown([row | drop for row, drop in zip(tables.stress, drops, strict=True)], [*varied, *drops[0]])
    told = f"scoring {tables.scoring}"
    if tables.scoring == "rigorous":
        told += f": an episode without stress is an event with probability at most {tables.alpha:g}"
    return "\n\n".join([told, first, second])


def _labels(rows: list[Row]) -> list[str]:
    names = list(rows[0])
    return [name for name in names[: names.index("n_seeds")] if name != "strength_name"]


def _heads(row: Row) -> Row:
    heads: Row = {head: _bounded(row, name) for name, head in HEADS.items()}
    heads["p"] = row["p_holm"]
    if row["verdict"].startswith("cannot"):
        # Identical actions are no collapse, whatever a score says about the rewards.
        heads |= {HEADS[name]: "–" for name in (*PHASE_RATES[1:], "excess", "identity_drop", "recovery_episodes")}
    return heads


def _bounded(row: Row, name: str) -> str:
    from brittlestar.results.format import bounded_column, text

    return bounded_column(row, name, lambda value: text(float(f"{value:.3g}")))
