"""Writes tables and pictures of a stress study, and says what they show."""

from __future__ import annotations

from pathlib import Path

from brittlestar.errors import UserError, nearest
from brittlestar.results.load import Cell, Row
from brittlestar.studies.stress.agents import recorded, score_agents
from brittlestar.studies.stress.compat_channels import CHANNELS
from brittlestar.studies.stress.runs import run_rows
from brittlestar.studies.stress.study import SCORINGS
from brittlestar.studies.stress.tables import RATES, StressTables, stress_tables

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


def summarise_stress(
    cells: list[Cell], passes: list[Cell], out: Path, scoring: str | None = None, alpha: float | None = None
) -> tuple[str, list[str]] | None:
    """Scores a study, writes its tables and pictures to `out`, and returns what to print and the pictures' names.

    Args:
        cells: of the sweep.
        passes: reference passes of the sweep.
        out: where to write.
        scoring: in place of the one that the cells were run with.
        alpha: in place of theirs.

    Returns:
        None where no cell asks for scores.
    """
    chosen = recorded(cells)
    if not chosen:
        return None
    scoring, alpha = choose_scoring(chosen[0].config, scoring, alpha)
    agents = score_agents(chosen, passes, scoring, alpha)
    tables = stress_tables(agents, scoring, alpha)
    from brittlestar.results.write import write_rows
    from brittlestar.studies.stress.plots import plot_stress

    write_rows(tables.stress, out / "stress")
    write_rows(run_rows(agents, scoring), out / "stress_runs")
    write_rows(tables.episodes, out / "stress_episodes")
    return overview(tables), plot_stress(tables, out)


def choose_scoring(config: Row, scoring: str | None, alpha: float | None) -> tuple[str, float]:
    """Returns what the user asks for, or else what the config of a cell says.

    Example:
        >>> choose_scoring({"scoring": "compat_1_4", "alpha": 0.05}, None, 0.01)
        ('compat_1_4', 0.01)
    """
    scoring = config.get("scoring", "rigorous") if scoring is None else scoring
    alpha = config.get("alpha", 0.05) if alpha is None else alpha
    if scoring not in SCORINGS:
        raise UserError(f"`scoring={scoring}` does not exist; {nearest(str(scoring), SCORINGS)}")
    if not 0 < alpha < 1:
        raise UserError(f"`alpha` must be between 0 and 1, got {alpha}")
    return scoring, alpha


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
        heads |= {HEADS[name]: "–" for name in (*RATES[1:], "excess", "identity_drop", "recovery_episodes")}
    return heads


def _bounded(row: Row, name: str) -> str:
    from brittlestar.results.format import bounded_column, text

    return bounded_column(row, name, lambda value: text(float(f"{value:.3g}")))
