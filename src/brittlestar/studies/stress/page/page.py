"""Writes docs/stress_benchmark.md from its sections."""

import time
from collections.abc import Iterable
from pathlib import Path

from brittlestar.cells.files import make_folder
from brittlestar.cells.identity import versions
from brittlestar.errors import UserError, counted
from brittlestar.results.format import bounded_column, markdown
from brittlestar.results.load import Row
from brittlestar.studies.pages import MET, MISSED, UNDECIDED, judge, percent, run_command, three_digits, with_interval
from brittlestar.studies.stress.agents import MODES
from brittlestar.studies.stress.page.findings import SIGNIFICANT, alarm_rows, findings
from brittlestar.studies.stress.page.plan import COMMAND, BenchmarkPlan
from brittlestar.studies.stress.page.tables import BenchmarkTables, agent_columns, collapsed, mean, read_tables
from brittlestar.studies.stress.page.trainings import TEXT, training_rows
from brittlestar.studies.stress.runs import is_silent
from brittlestar.studies.stress.scoring import BASELINE
from brittlestar.studies.stress.study import StressPhases

_FIGURES = {
    "collapse_map": "Collapse rate in the shock, per environment and stressor",
    "leaderboard": "Robust score of every agent, with interval and rank",
    "channel_radar": "The five channels in the shock",
    "false_alarms": "Share of events without stress, per agent",
    "reward_collapse": "Return and collapse rate of every agent",
    "mode_agreement": "Deterministic against sampled actions",
    "return_loss": "Loss of return in the shock",
    "return_loss_map": "Loss of return, normalised, per environment and stressor",
    "worst_stressor": "The worst stressor of every algorithm in every environment",
    "stressor_profiles": "Stressor profiles per algorithm",
    "seed_variation": "Variation of the collapse rate over seeds",
    "suites": "Suites of environments against each other",
}
"""The figures on the page, and what they show."""
_WIDTH, _COLOURS = 1000, 128
"""Pixels and colours of a picture on the page."""
_SILENT = "–"
_LEADERBOARD = """\
Stability: 1 minus the share of episodes in the shock that collapse beyond those without stress, over the stressors
that act, at most 1. Return: without stress, between random (0) and reference (1); in brackets where these are not
known. Front: no agent of the same environment and mode has both a better return and a better stability. Rank: by
stability, within environment and mode, with its bootstrap interval. The published score mixes identity, collapse rate
and return (.55, .30, .15): it does not replace the stability."""
_STRESSORS = """\
Collapse: more events in the shock than in the same episodes without stress, by a paired test (p < .05, Holm)."""
_RATES = f"""\
Share of episodes in the shock that collapse; bold: beyond chance; {_SILENT}: no action changed, which is proven."""
_ALARMS = """\
Events among episodes without stress (`baseline`). Error: standard deviation of the rate that so many episodes and
reference passes leave if the promise holds with equality (beta-binomial). In brackets: 95 % interval, Wilson's over
episodes and at least 1.96 errors. p: probability of so many events or more. Verdict: met if all of the interval is
accepted; missed if there are more events than accepted beyond chance (p < .05, Holm over all agents); else not
decided."""
_CORRELATIONS = "Over agents. Both modes have the same agents, so each mode has its own rows."


def write_benchmark(plan: BenchmarkPlan) -> int:
    """Runs the sweep of a plan as far as it is not in the store, and writes the page; returns how many cells failed."""
    from brittlestar.studies.stress.leaderboard_report import write_leaderboard

    make_folder(plan.page.parent)
    for name in plan.untrained:
        _print(f"left out: `{name}` is not trained yet")
    for name in plan.seeing:
        _print(f"left out: `{name}` sees pictures, which takes hours; name it in `--policies`")
    _print(f"1/3 sweep: {plan.size()}, in {plan.folder}")
    if not run_command(plan.words()) and not (plan.folder / "failures.json").is_file():
        raise UserError(f"the sweep failed: brittlestar {' '.join(plan.words())}")
    _print("2/3 leaderboard and figures")
    # The tables are on the page; the last paragraph lists the files.
    print(write_leaderboard([str(plan.folder)], plan.folder).rpartition("\n\n")[2], flush=True)
    _print("3/3 page")
    tables = read_tables(plan.folder)
    try:
        plan.page.write_text(benchmark_page(plan, tables))
    except OSError as error:
        raise UserError(f"cannot write {error.filename}: {error.strerror}") from None
    _print(f"wrote {plan.page}")
    return len(tables.failures)


def _print(line: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {line}", flush=True)


def benchmark_page(plan: BenchmarkPlan, tables: BenchmarkTables) -> str:
    """Returns the page, and writes its pictures next to it."""
    alpha = StressPhases().alpha
    alarms, trained = alarm_rows(tables, plan.reference, alpha), training_rows(tables)
    sections = {
        "Findings": ["\n".join(f"- {line}" for line in findings(tables, alarms, alpha))],
        "Leaderboard": [_LEADERBOARD, _table(map(_leaderboard_row, tables.leaderboard))],
        "Stressors": [_STRESSORS, _table(_stressor_row(name, tables.under(name)) for name in tables.stressors)],
        "Collapse rates": [_RATES, _table(_rate_row(agent, tables) for agent in tables.agents())],
        **({"Trainings": [TEXT, _table(trained)]} if trained else {}),
        "False alarms": [_ALARMS, _table(_alarm_row(row, alpha) for row in alarms)],
        "Correlations": [_CORRELATIONS, _table(map(_correlation_row, tables.correlations))],
        "Figures": _figures(plan),
        "How it was made": ["\n".join(f"- {line}" for line in _making(plan, tables, alpha))],
    }
    parts = ["# Stress benchmark", *_opening(plan, tables)]
    for title, paragraphs in sections.items():
        parts += [f"## {title}", *paragraphs]
    return "\n\n".join(parts) + "\n"


def _opening(plan: BenchmarkPlan, tables: BenchmarkTables) -> list[str]:
    envs, policies, _ = (set(names) for names in zip(*tables.agents(), strict=True))
    parts = [
        f"Written by `{plan.command}`: {counted(len(policies), 'policy', 'policies')} of [the zoo](zoo.md), each in\n"
        f"the environment of its training ({counted(len(envs), 'environment')}), under "
        f"{counted(len(tables.stressors), 'stressor')} and none,\nwith deterministic and with sampled actions. "
        "[What phases and scores are](stress.md)."
    ]
    if plan.command != COMMAND:
        parts.append(f"**Not all of it.** The whole benchmark is `{COMMAND}`.")
    if plan.untrained:
        parts.append(f"**Not trained yet, so not measured:** {', '.join(plan.untrained)}.")
    if plan.seeing:
        parts.append(f"Left out, because drawing pictures takes hours: {', '.join(plan.seeing)}.")
    if tables.failures:
        errors = sorted({str(row["error"]) for row in tables.failures})
        parts.append(f"**{counted(len(tables.failures), 'cell')} failed, left out:** {'; '.join(errors[:5])}.")
    return parts


def _table(rows: Iterable[Row]) -> str:
    listed = list(rows)
    return markdown(listed, listed[0])


def _leaderboard_row(row: Row) -> Row:
    rank, agent = bounded_column(row, "rank_stability", str), agent_columns(row)
    return {
        "environment": agent["environment"],
        "mode": agent["mode"],
        "rank": rank and f"{rank} of {row['n_agents']}",
        "policy": agent["policy"],
        "stability": with_interval(row, "stability"),
        "return": three_digits(row["normalised_return"]) or f"({three_digits(row['clean_return'])})",
        "front": "yes" if row["pareto"] else "",
        "identity": three_digits(row["identity"]),
        "published score": three_digits(row.get("compat_score")),
    }


def _stressor_row(name: str, rows: list[Row]) -> Row:
    acting = [row for row in rows if not is_silent(row)]
    line: Row = {"stressor": name, "agents": len(rows), "cannot act on": len(rows) - len(acting)}
    columns = {
        "CR_shock": "rate_shock", "beyond FPR": "excess", "CR_post": "rate_post", "identity drop": "identity_drop",
        "episodes to recover": "recovery_episodes",
    }  # fmt: skip
    means = {head: three_digits(mean(row[column] for row in acting)) or _SILENT for head, column in columns.items()}
    return line | {"collapse": sum(map(collapsed, acting))} | means


def _rate_row(agent: tuple, tables: BenchmarkTables) -> Row:
    rows = tables.agents()[agent]
    line: Row = dict(zip(("environment", "policy", "mode"), agent, strict=True))
    line["none"] = three_digits(rows[BASELINE]["rate_shock"]) if BASELINE in rows else ""
    for name in tables.stressors:
        row = rows.get(name)
        rate = "" if row is None else _SILENT if is_silent(row) else three_digits(row["rate_shock"])
        line[name.replace("_", " ")] = f"**{rate}**" if row is not None and collapsed(row) else rate
    return line


def _alarm_row(row: Row, alpha: float) -> Row:
    line = {name: row[name] for name in ("environment", "policy", "mode", "episodes")}
    line |= {"false alarms": bounded_column(row, "rate", percent), "accepted": percent(alpha)}
    line |= {"error": percent(row["error"]), "p": f"{row['p']:.2g}"}
    met = judge(-alpha, -row["rate_high"], -row["rate_low"]) == MET
    return line | {"verdict": MISSED if row["p_holm"] < SIGNIFICANT else MET if met else UNDECIDED}


def _correlation_row(row: Row) -> Row:
    heads = {"Pearson": "pearson", "p": "pearson_p", "Spearman": "spearman", "p (Spearman)": "spearman_p"}
    line: Row = {"of": row["correlation"], "mode": MODES[row["deterministic"]], "agents": row["n"]}
    return line | {head: three_digits(row[name]) for head, name in heads.items()}


def _figures(plan: BenchmarkPlan) -> list[str]:
    folder = plan.page.with_suffix("")
    names = copy_pictures(plan.folder / "figures", folder)
    pictures = [f"![{_FIGURES[name]}]({folder.name}/{name}.png)" for name in names]
    return [*pictures, "The command draws these and all others as PNG (300 dpi) and PDF, next to tables and LaTeX."]


def copy_pictures(figures: Path, folder: Path) -> list[str]:
    """Copies the figures of the page into a folder, smaller than those for a paper, and returns their names."""
    from PIL import Image

    make_folder(folder)
    for old in folder.glob("*.png"):
        old.unlink()
    names = [name for name in _FIGURES if (figures / f"figure_{name}.png").is_file()]
    for name in names:
        with Image.open(figures / f"figure_{name}.png") as image:
            small = image.convert("RGB")
            small.thumbnail((_WIDTH, 4 * _WIDTH), Image.Resampling.LANCZOS)
            small.quantize(_COLOURS).save(folder / f"{name}.png", optimize=True)
    return names


def _making(plan: BenchmarkPlan, tables: BenchmarkTables, alpha: float) -> list[str]:
    third, cells = plan.episodes // 3, sum(int(row["n_seeds"]) for row in tables.stress)
    return [
        f"Command: `{plan.command}`. It runs `experiment=stress_benchmark`, ranks, draws, and writes this page.",
        f"{cells} cells: {len(tables.agents())} agents (policy and mode), {len(tables.stressors) + 1} schedules, "
        f"seeds {', '.join(map(str, plan.seeds))}.",
        f"{plan.episodes} episodes per cell: {third} before the shock, {third} in it, "
        f"{plan.episodes - 2 * third} after it.",
        f"A reference pass of {plan.reference} episodes per policy, mode and seed, on start states of its own; "
        f"scoring rigorous, alpha = {alpha:g}.",
        f"Versions: {', '.join(f'{name} {version}' for name, version in versions().items())}.",
    ]
