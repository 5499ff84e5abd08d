"""Stress phases as a study: reference passes for a sweep, scores of its episodes, and a section of its report."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from brittlestar.cells.job import Job, resolve
from brittlestar.errors import UserError, require, require_choice
from brittlestar.reports.sections import Section
from brittlestar.results.format import bounded_column, markdown, text
from brittlestar.results.load import Cell, Row
from brittlestar.results.write import write_rows
from brittlestar.studies.base import Study
from brittlestar.studies.stress.agents import agent_key, reference_pass, score_agents, split_passes
from brittlestar.studies.stress.charts import stress_charts, stress_findings
from brittlestar.studies.stress.compat_channels import CHANNELS
from brittlestar.studies.stress.plots import plot_stress
from brittlestar.studies.stress.rigorous import split
from brittlestar.studies.stress.runs import is_silent, run_rows
from brittlestar.studies.stress.scoring import SCORINGS
from brittlestar.studies.stress.tables import PHASE_RATES, StressTables, stress_tables

_HEADS = {
    "rate_pre": "CR_pre", "false_alarms": "FPR", "rate_shock": "CR_shock", "excess": "CR_shock - FPR",
    "rate_post": "CR_post", "identity_drop": "ΔI", "return_drop": "return drop", "cvar_25": "CVaR 25 %",
    "recovery_episodes": "recovery",
}  # fmt: skip
"""Columns of the printed table, and their heads there; the file holds more."""
_SILENT = [_HEADS[name] for name in (*PHASE_RATES[1:], "excess", "identity_drop", "recovery_episodes")]
_METHODS = [
    "Intervals of the study: Student's t over seeds, for rates at least Wilson's over episodes; with one seed, over "
    "episodes.",
    "Excess of collapses: the same episodes with and without stress, tested within seeds, with Holm's correction over "
    "the stressors of a policy; its interval has the level of that correction.",
]
_LIMITS = [
    "A collapse is unusual behaviour of a policy, not a failed task.",
    "A policy that does not learn cannot react to a stressor of the reward.",
]


@dataclass
class StressPhases(Study):
    """Scores behaviour before, during and after a shock against a reference pass without stress.

    Attributes:
        reference: episodes of the reference pass of every agent and seed.
        scoring: one of `SCORINGS`.
        alpha: accepted false-alarm rate of the rigorous scoring.
    """

    reference: int = 300
    scoring: str = "rigorous"
    alpha: float = 0.05

    def __post_init__(self) -> None:
        require(self.reference >= 1, "reference", "at least 1", self.reference)
        require_choice("scoring", self.scoring, SCORINGS)
        require(0 < self.alpha < 1, "alpha", "between 0 and 1", self.alpha)
        if self.scoring == "rigorous":
            split(self.reference)

    def extra_cells(self, cells: Iterable[Job]) -> list[Job]:
        """Returns the reference pass of every agent and seed."""
        passes: dict[str, Job] = {}
        for cell in cells:
            if cell.config["record"] is None:
                raise UserError("`study=stress` scores recorded behaviour: add `record=behaviour`")
            if idle := _idle_schedule(cell):
                raise UserError(idle)
            reference = passes.setdefault(agent_key(cell.config), reference_pass(cell, self.reference))
            backends = {_backend(cell), _backend(reference)} - {""}
            if len(backends) > 1:
                reason = f"`perturbation={cell.choices.get('perturbation')}` needs it"
                raise UserError(
                    f"`study=stress` compares episodes of one backend: add `env.backend=gymnasium`; {reason}"
                )
        return list(passes.values())

    def analyse(self, cells: list[Cell], out: Path) -> list[Section]:
        """Scores the recorded cells and writes `stress`, `stress_runs` and `stress_episodes`, with pictures."""
        recorded, passes = split_passes(cells)
        if not recorded:
            if any(cell.done and cell.role is None for cell in cells):
                raise UserError(
                    "no behaviour was recorded for `study=stress`: run the sweep again with `record=behaviour`"
                )
            return []
        agents = score_agents(recorded, passes, self.scoring, self.alpha)
        tables, runs = stress_tables(agents, self.scoring, self.alpha), run_rows(agents, self.scoring)
        files = {"stress": tables.stress, "stress_runs": runs, "stress_episodes": tables.episodes}
        for name, rows in files.items():
            write_rows(rows, out / name)
        pictures = plot_stress(tables, out)
        charts, findings, methods = stress_charts(tables, pictures), stress_findings(tables), self._methods()
        return [Section("Stress phases", _overview(tables), pictures, list(files), methods, _LIMITS, charts, findings)]

    def _methods(self) -> list[str]:
        """Returns how scores, intervals and tests are made, for the evaluation protocol."""
        threshold = f"a published threshold (`{self.scoring}`)"
        if self.scoring == "rigorous":
            threshold = (
                f"a conformal threshold from {self.reference} clean episodes of the same policy and seed, so that an "
                f"episode without stress is a false alarm with probability at most {self.alpha:g}"
            )
        return [f"A collapse is an episode whose score exceeds {threshold}.", *_METHODS]


def _backend(cell: Job) -> str:
    """Returns the backend of a cell; empty for one that fails before it has any."""
    try:
        return resolve(cell).simulator["backend"]
    except Exception:
        return ""


def _idle_schedule(cell: Job) -> str:
    try:
        return resolve(cell).idle_schedule
    except Exception:
        # The cell reports any other error.
        return ""


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
    # Identical actions are not a collapse, whatever a scoring makes of the rewards.
    return heads | dict.fromkeys(_SILENT, "–") if is_silent(row) else heads


def _bounded(row: Row, name: str) -> str:
    return bounded_column(row, name, lambda value: text(float(f"{value:.3g}")))
