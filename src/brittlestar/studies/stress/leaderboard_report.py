"""From the folders of several sweeps to a leaderboard: tables, LaTeX, correlations, figures, and what to print."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from brittlestar.cells.files import make_folder
from brittlestar.errors import UserError
from brittlestar.reports.sections import studies_of
from brittlestar.results.load import Cell, Row, load_cells
from brittlestar.studies.stress.agents import score_agents, split_passes
from brittlestar.studies.stress.correlations import correlation_rows
from brittlestar.studies.stress.leaderboard import Leaderboard, make_leaderboard
from brittlestar.studies.stress.runs import run_rows
from brittlestar.studies.stress.study import StressPhases

_AXES = {
    "return": "normalised_return", "stability": "stability", "front": "pareto", "rank": "rank_stability",
    "overall": "rank_stability_overall",
}  # fmt: skip
_RATES = {"CR_shock": "rate_shock", "FPR": "false_alarms", "CR - FPR": "excess", "identity": "identity"}
_SCORE = {
    "mean return": "return_mean", "reward_norm": "reward_norm", "robust score": "robust_score",
    "its rank": "rank_robust", "its overall": "rank_robust_overall",
}  # fmt: skip
_TRAITS = ("env_id", "on_policy")
_MODES = {True: "deterministic", False: "stochastic"}


def write_leaderboard(
    folders: list[str], out: Path, settings: dict[str, Any] | None = None, figures: bool = True
) -> str:
    """Scores the agents of sweeps against each other, writes everything to `out`, and returns what to print.

    Args:
        folders: of the sweeps.
        out: where to write.
        settings: fields of the study, in place of those that the cells were run with.
        figures: whether to draw.
    """
    study, cells, passes = _read(folders, settings or {})
    scoring, alpha = study.scoring, study.alpha
    agents = score_agents(cells, passes, scoring, alpha)
    published = score_agents(cells, passes, "compat_1_4", alpha) if scoring == "rigorous" else None
    board = make_leaderboard(agents, scoring, published)
    correlations, runs = correlation_rows(board.rows), run_rows(agents, scoring)
    shown = overview(board, correlations, scoring)
    from brittlestar.results.write import write_rows
    from brittlestar.studies.stress import paper_tables
    from brittlestar.studies.stress.tables import stress_tables

    try:
        make_folder(out)
        write_rows(board.rows, out / "leaderboard")
        write_rows(correlations, out / "correlations")
        (out / "leaderboard.md").write_text(f"# Leaderboard\n\n{shown}\n")
        pages = {
            "leaderboard": paper_tables.leaderboard_table(board.rows, scoring, _labels(board.rows)),
            "stress": paper_tables.stress_table(runs, scoring),
            "false_alarms": paper_tables.false_alarm_table(agents, scoring, alpha),
        }
        for name, page in pages.items():
            (out / f"{name}.tex").write_text(f"{page}\n")
        drawn = []
        if figures:
            from brittlestar.studies.stress.figures import draw_figures

            tables = stress_tables(agents, scoring, alpha)
            make_folder(out / "figures")
            drawn = draw_figures(tables.stress, runs, tables.episodes, board.rows, out / "figures", alpha)
    except OSError as error:
        raise UserError(f"cannot write to {out}: {error.strerror or error}") from None
    return "\n\n".join([shown, _files(out, drawn)])


def overview(board: Leaderboard, correlations: list[Row], scoring: str) -> str:
    """Returns leaderboard, correlations and notes as Markdown."""
    from brittlestar.results.format import markdown

    columns = (_AXES | _RATES | _SCORE) if scoring == "rigorous" else (_SCORE | _RATES | _AXES)
    if len({(row["env"], row["env_id"]) for row in board.rows}) == 1:
        columns = {head: name for head, name in columns.items() if not name.endswith("_overall")}
    if "compat_score" in board.rows[0]:
        columns |= {"compat score": "compat_score"}
    heads = [row | {head: _bounded(row, name) for head, name in columns.items()} for row in board.rows]
    heads = [row | {"mode": _MODES[row["deterministic"]]} for row in heads]
    labels = ["mode" if name == "deterministic" else name for name in _labels(board.rows)]
    methods = sorted({row["interval_method"] for row in board.rows})
    told = [f"scoring {scoring}; ranks within environment and mode, and overall; in brackets: {'; '.join(methods)}"]
    told += [markdown(heads, [*labels, "n_seeds", *columns])]
    pairs = [_rounded(row) | {"mode": _MODES[row["deterministic"]]} for row in correlations]
    modes = ["mode"] if len({row["mode"] for row in pairs}) > 1 else []
    told += [markdown(pairs, ["correlation", *modes, "n", "pearson", "pearson_p", "spearman", "spearman_p"])]
    return "\n\n".join([*told, *(["\n".join(f"note: {note}" for note in board.notes)] if board.notes else [])])


def _read(folders: list[str], settings: dict[str, Any]) -> tuple[StressPhases, list[Cell], list[Cell]]:
    every = load_cells(folders, mixed=True)
    # Passes of different lengths may be in one leaderboard.
    lengths = [cell.config["study"].get("reference", 0) for cell in every if isinstance(cell.config.get("study"), dict)]
    settings = ({"reference": max(lengths)} if any(lengths) else {}) | settings
    for study, members in studies_of(every, settings):
        cells, passes = split_passes(members)
        if isinstance(study, StressPhases) and cells:
            # The longest pass of an agent is the last and holds, whatever the order of the folders.
            return study, cells, sorted(passes, key=lambda cell: (cell.config["episodes"], cell.manifest["cell"]))
    raise UserError(
        f"{', '.join(folders)}: no finished cell has recorded behaviour and a reference pass; "
        "run `brittlestar -m experiment=stress ...`"
    )


def _labels(rows: list[Row]) -> list[str]:
    """Columns that tell agents apart; environment and policy always."""
    names = list(rows[0])
    found = [name for name in names[: names.index("n_seeds")] if name not in _TRAITS]
    return [name for name in found if name in ("env", "policy") or len({row[name] for row in rows}) > 1]


def _bounded(row: Row, name: str) -> str:
    from brittlestar.results.format import bounded_column, text

    return bounded_column(row, name, lambda value: text(_short(value)))


def _rounded(row: Row) -> Row:
    return {name: _short(value) for name, value in row.items()}


def _short(value: object) -> object:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return float(f"{value:.3g}") if isinstance(value, float) else value


def _files(out: Path, drawn: list[str]) -> str:
    lines = [
        f"tables   {out}/{{leaderboard,correlations}}.{{csv,parquet,md,json}}",
        f"latex    {out}/{{leaderboard,stress,false_alarms}}.tex",
    ]
    return "\n".join([*lines, *([f"figures  {out}/figures/{{{','.join(drawn)}}}.{{png,pdf}}"] if drawn else [])])
