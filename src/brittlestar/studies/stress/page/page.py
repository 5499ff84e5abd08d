"""The page, from its sections."""

from __future__ import annotations

import time

from brittlestar.cells.files import make_folder
from brittlestar.cells.identity import versions
from brittlestar.errors import UserError
from brittlestar.results.format import bounded, bounded_column, markdown
from brittlestar.results.load import Row
from brittlestar.statistics.hypothesis_tests import holm
from brittlestar.studies.results_page.commands import run_sweep
from brittlestar.studies.results_page.formats import bounded_number, number, percent

from .alarms import Alarms, alarms
from .pictures import SHOWN, copy_pictures
from .study import COMMAND, Plan
from .tables import BASELINE, MODES, StudyTables, collapsed, is_silent, mean, read_tables, short
from .words import findings

ALPHA = 0.05
"""As the experiment has it."""
TITLE = "# Stress benchmark"
SECTIONS = ("What it says", "Leaderboard", "Stressors", "Collapse rates", "False alarms", "Correlations", "Figures",
            "How it was made")  # fmt: skip
_SILENT = "–"


def write_stress_page(plan: Plan) -> int:
    """Runs the sweep of a plan as far as it is not in the store, and writes the page; returns how many cells failed."""
    from brittlestar.studies.stress.leaderboard_report import write_leaderboard

    make_folder(plan.page.parent)
    for name in plan.missing:
        _say(f"left out: `{name}` is not trained yet")
    _say(f"1/3 sweep: {plan.size()}, in {plan.folder}")
    if not run_sweep(plan.sweep()) and not (plan.folder / "failures.json").is_file():
        raise UserError(f"the sweep failed: brittlestar {' '.join(plan.sweep())}")
    _say("2/3 leaderboard and figures")
    # The tables are on the page; what is left says where the files are.
    print(write_leaderboard([str(plan.folder)], plan.folder).rpartition("\n\n")[2], flush=True)
    _say("3/3 page")
    tables = read_tables(plan.folder)
    try:
        plan.page.write_text(compose(plan, tables))
    except OSError as error:
        raise UserError(f"cannot write {error.filename}: {error.strerror}") from None
    _say(f"wrote {plan.page}")
    return len(tables.failures)


def _say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


def compose(plan: Plan, tables: StudyTables) -> str:
    """Returns the page, and puts its pictures beside it."""
    found = alarms(tables, plan.reference, ALPHA)
    drawn = copy_pictures(plan.folder / "figures", plan.pictures)
    bodies = (
        ["\n".join(f"- {text}" for text in findings(tables, found, ALPHA))],
        [_LEADERBOARD, _leaderboard(tables)],
        [_STRESSORS, _stressors(tables)],
        [_RATES, _rates(tables)],
        [_ALARMS, _alarms(found)],
        [_CORRELATIONS, _correlations(tables)],
        _figures(plan, drawn),
        _making(plan, tables),
    )
    parts = [TITLE, *_opening(plan, tables)]
    for name, body in zip(SECTIONS, bodies, strict=True):
        parts += [f"## {name}", *body]
    return "\n\n".join(parts) + "\n"


_LEADERBOARD = """\
Stability: 1 minus the share of episodes in the shock that collapse beyond those without stress, over the stressors
that act. Return: without stress, between random (0) and reference (1); in brackets where these are not known. Front: no
agent of the same environment and mode has both a better return and a better stability. Rank: by stability, within
environment and mode, with its bootstrap interval. The published score mixes identity, collapse rate and return (.55,
.30, .15): it stands beside, not in place."""
_STRESSORS = """\
Collapse: more events in the shock than in the same episodes without stress, by a paired test (p < .05, Holm)."""
_RATES = f"""\
Share of episodes in the shock that collapse; bold: beyond chance; {_SILENT}: proven that no action was another one."""
_ALARMS = """\
Events among episodes without stress (`baseline`), with Wilson's 95 % interval. Error: standard deviation of the rate
that so many episodes and reference passes leave if the promise holds with equality (beta-binomial). p: probability of
so many events or more; Holm's correction over all agents decides whether the promise is kept."""
_CORRELATIONS = "Over agents; both modes are the same agents, so they stay apart."


def _opening(plan: Plan, tables: StudyTables) -> list[str]:
    agents = tables.agents()
    envs = {env for env, _, _ in agents}
    policies = {policy for _, policy, _ in agents}
    parts = [
        f"Written by `{plan.command}`: {_count(policies, 'policy', 'policies')} of [the zoo](zoo.md), each in the\n"
        f"environment of its training ({_count(envs, 'environment')}), under {len(tables.stressors)} stressors and "
        "none,\nwith deterministic and with sampled actions. [What phases and scores are](stress.md)."
    ]
    if not plan.is_full:
        parts.append(f"**Not all of it.** The whole benchmark is `{COMMAND}`.")
    if plan.missing:
        parts.append(f"**Not trained yet, so not measured:** {', '.join(plan.missing)}.")
    if tables.failures:
        errors = sorted({str(row["error"]) for row in tables.failures})
        parts.append(f"**{len(tables.failures)} cells failed and are left out:** {'; '.join(errors[:5])}.")
    return parts


def _leaderboard(tables: StudyTables) -> str:
    rows = []
    for row in tables.leaderboard:
        rows.append(
            {
                "environment": row["env"],
                "mode": MODES[row["deterministic"]],
                "rank": _rank(row, "rank_stability"),
                "policy": short(row["policy"]),
                "stability": bounded_number(row, "stability"),
                "return": number(row["normalised_return"]) or f"({number(row['clean_return'])})",
                "front": "yes" if row["pareto"] else "",
                "identity": number(row["identity"]),
                "published score": number(row.get("compat_score")),
            }
        )
    return markdown(rows, rows[0])


def _rank(row: Row, name: str) -> str:
    return "" if row[name] is None else f"{bounded_column(row, name, str)} of {row['n_agents']}"


def _stressors(tables: StudyTables) -> str:
    rows = []
    for name in tables.stressors:
        under = tables.under(name)
        acting = [row for row in under if not is_silent(row)]
        shown: Row = {"stressor": name, "agents": len(under), "cannot act on": len(under) - len(acting)}
        shown["collapse"] = sum(map(collapsed, acting))
        for head, column in (("CR_shock", "rate_shock"), ("beyond FPR", "excess"), ("CR_post", "rate_post")):
            shown[head] = number(mean(row[column] for row in acting)) or _SILENT
        shown["identity drop"] = number(mean(row["identity_drop"] for row in acting)) or _SILENT
        shown["episodes to recover"] = number(mean(row["recovery_episodes"] for row in acting)) or _SILENT
        rows.append(shown)
    return markdown(rows, rows[0])


def _rates(tables: StudyTables) -> str:
    rows = []
    for (env, policy, mode), found in tables.agents().items():
        shown: Row = {"environment": env, "policy": policy, "mode": MODES[mode]}
        shown["none"] = number(found[BASELINE]["rate_shock"]) if BASELINE in found else ""
        for name in tables.stressors:
            shown[name.replace("_", " ")] = _rate(found.get(name))
        rows.append(shown)
    return markdown(rows, rows[0])


def _rate(row: Row | None) -> str:
    if row is None:
        return ""
    if is_silent(row):
        return _SILENT
    return f"**{number(row['rate_shock'])}**" if collapsed(row) else number(row["rate_shock"])


def _alarms(found: list[Alarms]) -> str:
    adjusted = holm([one.p_value for one in found]).tolist()
    rows = [
        {
            "environment": one.agent[0],
            "policy": one.agent[1],
            "mode": MODES[one.agent[2]],
            "episodes": one.episodes,
            "false alarms": bounded(one.rate, one.low, one.high, percent),
            "accepted": percent(ALPHA),
            "error": percent(one.error),
            "p": f"{one.p_value:.2g}",
            "kept": "yes" if p >= ALPHA else "**NO**",
        }
        for one, p in zip(found, adjusted, strict=True)
    ]
    return markdown(rows, rows[0])


def _correlations(tables: StudyTables) -> str:
    rows = [
        {
            "of": row["correlation"],
            "mode": MODES[row["deterministic"]],
            "agents": row["n"],
            "Pearson": number(row["pearson"]),
            "p": number(row["pearson_p"]),
            "Spearman": number(row["spearman"]),
            "p (Spearman)": number(row["spearman_p"]),
        }
        for row in tables.correlations
    ]
    return markdown(rows, rows[0])


def _figures(plan: Plan, drawn: list[str]) -> list[str]:
    shown = [f"![{SHOWN[name]}]({plan.pictures.name}/{name}.png)" for name in drawn]
    return [*shown, "The command draws these and all others as PNG (300 dpi) and PDF, beside tables and LaTeX."]


def _making(plan: Plan, tables: StudyTables) -> list[str]:
    third, seeds = plan.episodes // 3, ", ".join(map(str, plan.seeds))
    cells = sum(int(row["n_seeds"]) for row in tables.stress)
    lines = [
        f"- Command: `{plan.command}`. It runs `experiment=stress_benchmark`, ranks, draws, and writes this page.",
        f"- {cells} cells: {len(tables.agents())} agents (policy and mode), {len(tables.stressors) + 1} schedules, "
        f"seeds {seeds}.",
        f"- {plan.episodes} episodes per cell: {third} before the shock, {third} in it, "
        f"{plan.episodes - 2 * third} after it.",
        f"- A reference pass of {plan.reference} episodes per policy, mode and seed, on start states of its own; "
        f"scoring rigorous, alpha = {ALPHA:g}.",
        f"- Versions: {', '.join(f'{name} {version}' for name, version in versions().items())}.",
    ]
    return ["\n".join(lines)]


def _count(found: set[str], one: str, several: str = "") -> str:
    """Writes a number and what is counted.

    Example:
        >>> _count({"a"}, "policy", "policies"), _count({"a", "b"}, "environment")
        ('1 policy', '2 environments')
    """
    return f"{len(found)} {one if len(found) == 1 else several or one + 's'}"
