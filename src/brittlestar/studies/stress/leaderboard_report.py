"""From the folders of several sweeps to a leaderboard: tables, LaTeX, correlations, figures, and what to print."""

from pathlib import Path
from typing import Any

from brittlestar.cells.files import make_folder
from brittlestar.errors import UserError
from brittlestar.reports.page.write import write_page
from brittlestar.reports.sections import studies_of
from brittlestar.results.format import bounded_column, markdown, text
from brittlestar.results.load import Cell, Row, load_cells
from brittlestar.results.write import write_rows
from brittlestar.studies.stress.agents import MODES, score_agents, split_passes
from brittlestar.studies.stress.leaderboard import Leaderboard, correlation_rows, make_leaderboard
from brittlestar.studies.stress.leaderboard_page import leaderboard_page
from brittlestar.studies.stress.paper_tables import false_alarm_table, leaderboard_table, stress_table
from brittlestar.studies.stress.runs import run_rows
from brittlestar.studies.stress.study import StressPhases
from brittlestar.studies.stress.tables import StressTables, stress_tables

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


def write_leaderboard(
    folders: list[str], out: Path, settings: dict[str, Any] | None = None, figures: bool = True
) -> str:
    """Ranks the agents of sweeps, writes tables, LaTeX and figures to `out`, and returns what to print.

    `settings` are fields of the study, in place of those that the cells were run with.
    """
    study, cells, passes = _read(folders, settings or {})
    agents = score_agents(cells, passes, study.scoring, study.alpha)
    published = score_agents(cells, passes, "compat_1_4", study.alpha) if study.scoring == "rigorous" else None
    board = make_leaderboard(agents, study.scoring, published)
    correlations, runs = correlation_rows(board.rows), run_rows(agents, study.scoring)
    overview = leaderboard_overview(board, correlations, study.scoring)
    texts = {
        "leaderboard.md": f"# Leaderboard\n\n{overview}",
        "leaderboard.tex": leaderboard_table(board.rows, study.scoring, _labels(board.rows)),
        "stress.tex": stress_table(runs, study.scoring),
        "false_alarms.tex": false_alarm_table(agents, study.scoring, study.alpha),
    }
    files = [
        f"tables   {out}/{{leaderboard,correlations}}.{{csv,parquet,md,json}}",
        f"latex    {out}/{{leaderboard,stress,false_alarms}}.tex",
    ]
    try:
        make_folder(out)
        write_rows(board.rows, out / "leaderboard")
        write_rows(correlations, out / "correlations")
        for name, content in texts.items():
            (out / name).write_text(f"{content}\n")
        tables = stress_tables(agents, study.scoring, study.alpha)
        names = _draw(study, tables, board.rows, runs, out / "figures") if figures else []
        page = write_page(leaderboard_page(overview, board, tables, [*cells, *passes]), out, "leaderboard.html")
    except OSError as error:
        raise UserError(f"cannot write to {out}: {error.strerror or error}") from None
    files += [f"page     {page}"]
    files += [f"figures  {out}/figures/{{{','.join(names)}}}.{{png,pdf}}"] if names else []
    return "\n\n".join([overview, "\n".join(files)])


def _draw(study: StressPhases, tables: StressTables, board: list[Row], runs: list[Row], folder: Path) -> list[str]:
    from brittlestar.studies.stress.figures import draw_figures

    return draw_figures(tables.stress, runs, tables.episodes, board, folder, study.alpha)


def leaderboard_overview(board: Leaderboard, correlations: list[Row], scoring: str) -> str:
    """Returns leaderboard, correlations and notes as Markdown."""
    columns = (_AXES | _RATES | _SCORE) if scoring == "rigorous" else (_SCORE | _RATES | _AXES)
    if len({(row["env"], row["env_id"]) for row in board.rows}) == 1:
        columns = {head: name for head, name in columns.items() if not name.endswith("_overall")}
    if "compat_score" in board.rows[0]:
        columns |= {"compat score": "compat_score"}
    rows = [
        row
        | {head: bounded_column(row, name, lambda value: text(_rounded(value))) for head, name in columns.items()}
        | _mode(row)
        for row in board.rows
    ]
    labels = ["mode" if name == "deterministic" else name for name in _labels(board.rows)]
    methods = "; ".join(sorted({row["interval_method"] for row in board.rows}))
    pairs = [{name: _rounded(value) for name, value in row.items()} | _mode(row) for row in correlations]
    modes = ["mode"] if len({row["mode"] for row in pairs}) > 1 else []
    parts = [
        f"scoring {scoring}; ranks within environment and mode, and overall; in brackets: {methods}",
        markdown(rows, [*labels, "n_seeds", *columns]),
        markdown(pairs, ["correlation", *modes, "n", "pearson", "pearson_p", "spearman", "spearman_p"]),
        "\n".join(f"note: {note}" for note in board.notes),
    ]
    return "\n\n".join(filter(None, parts))


def _read(folders: list[str], settings: dict[str, Any]) -> tuple[StressPhases, list[Cell], list[Cell]]:
    every = load_cells(folders, mixed=True)
    # Passes of different lengths may be in one leaderboard.
    lengths = [cell.config["study"].get("reference", 0) for cell in every if isinstance(cell.config.get("study"), dict)]
    settings = ({"reference": max(lengths)} if any(lengths) else {}) | settings
    for study, members in studies_of(every, settings):
        cells, passes = split_passes([*members])
        if isinstance(study, StressPhases) and cells:
            # The longest pass of an agent is the last and holds, whatever the order of the folders.
            return study, cells, sorted(passes, key=lambda cell: (cell.config["episodes"], cell.manifest["cell"]))
    raise UserError(
        f"{', '.join(folders)}: no finished cell has recorded behaviour and a reference pass; "
        "run `brittlestar -m experiment=stress ...`"
    )


def _labels(rows: list[Row]) -> list[str]:
    """Returns the columns that distinguish agents; environment and policy always."""
    columns = list(rows[0])
    names = [name for name in columns[: columns.index("n_seeds")] if name not in _TRAITS]
    return [name for name in names if name in ("env", "policy") or len({row[name] for row in rows}) > 1]


def _mode(row: Row) -> Row:
    return {"mode": MODES[row["deterministic"]]}


def _rounded(value: object) -> object:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return float(f"{value:.3g}") if isinstance(value, float) else value
