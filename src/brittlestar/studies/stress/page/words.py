"""What the tables say, in plain words: every sentence is computed from them."""

from __future__ import annotations

from brittlestar.results.format import is_missing
from brittlestar.results.load import Row
from brittlestar.statistics.hypothesis_tests import SIGNIFICANCE, holm
from brittlestar.studies.results_page.formats import number, percent, points

from .alarms import Alarms
from .tables import MODES, StudyTables, collapsed, is_silent, mean


def findings(tables: StudyTables, alarms: list[Alarms], alpha: float) -> list[str]:
    """Returns what a reader should take home, one sentence or two each."""
    said = [_alarms(alarms, alpha), _worst(tables), _least(tables), _silent(tables), _returns(tables)]
    return [text for text in (*said, _recovery(tables), _modes(tables), *_correlations(tables)) if text]


def _alarms(found: list[Alarms], alpha: float) -> str:
    events, episodes = sum(one.events for one in found), sum(one.episodes for one in found)
    above = [one for one, p in zip(found, holm([one.p_value for one in found]), strict=True) if p < SIGNIFICANCE]
    told = f"Without stress {percent(events / episodes)} of {episodes} episodes are called a collapse"
    told += f"; {percent(alpha)} is accepted."
    if above:
        names = ", ".join(f"`{one.agent[1]}` ({MODES[one.agent[2]]}, {percent(one.rate)})" for one in above)
        return f"{told} **The promise is broken** by {names}: more than chance explains."
    return f"{told} No agent of {len(found)} is above that by more than chance explains."


def _worst(tables: StudyTables) -> str:
    acting = sorted(tables.acting, key=lambda name: -_excess(tables, name))
    if not acting:
        return ""
    return _harm(tables, acting[0], "The hardest stressor is")


def _least(tables: StudyTables) -> str:
    acting = sorted(tables.acting, key=lambda name: -_excess(tables, name))
    return _harm(tables, acting[-1], "The mildest of those that change anything is") if len(acting) > 1 else ""


def _harm(tables: StudyTables, name: str, opening: str) -> str:
    rows = [row for row in tables.under(name) if not is_silent(row)]
    return (
        f"{opening} `{name}`: {percent(mean(row['rate_shock'] for row in rows))} of the episodes in the shock collapse "
        f"on average, {points(_excess(tables, name))} points against the same ones without stress; beyond chance for "
        f"{sum(map(collapsed, rows))} of {len(tables.under(name))} agents."
    )


def _excess(tables: StudyTables, name: str) -> float:
    return mean(row["excess"] for row in tables.under(name) if not is_silent(row))


def _silent(tables: StudyTables) -> str:
    rows = [row for row in tables.stress if is_silent(row)]
    if not rows:
        return ""
    pairs = sum(row["perturbation"] in tables.stressors for row in tables.stress)
    named = " and ".join(f"`{name}`" for name in sorted(tables.silent))
    always = f", always so under {named}" if named else ""
    return f"In {len(rows)} of {pairs} pairs of agent and stressor no action was another one{always}: no collapse."


def _returns(tables: StudyTables) -> str:
    """Agents whose behaviour collapses and whose return does not."""
    rows = [
        row for row in tables.stress if row["perturbation"] in tables.acting and not is_missing(row["return_p_value"])
    ]
    broken = [row for row in rows if collapsed(row)]
    hidden = [row for row in broken if not row["return_p_value"] < SIGNIFICANCE]
    if not broken:
        return "No collapse is shown beyond chance."
    return (
        f"In {len(hidden)} of {len(broken)} collapses beyond chance the return alone does not tell "
        f"(its paired test has p >= {SIGNIFICANCE:g})."
    )


def _recovery(tables: StudyTables) -> str:
    rows = [row for row in tables.stress if collapsed(row)]
    if not rows:
        return ""
    back = mean(row["recovered"] for row in rows)
    return f"After a collapse {percent(back)} of the runs are back to three calm episodes in a row before they end."


def _modes(tables: StudyTables) -> str:
    rates: dict[bool, list[float]] = {True: [], False: []}
    for agent, rows in tables.agents().items():
        rates[agent[2]] += [row["rate_shock"] for name, row in rows.items() if name in tables.acting]
    if not all(rates.values()):
        return ""
    return (
        f"Under the stressors that act, {percent(mean(rates[True]))} of the episodes collapse with deterministic "
        f"actions, {percent(mean(rates[False]))} with sampled ones."
    )


def _correlations(tables: StudyTables) -> list[str]:
    said = []
    for row in tables.correlations:
        if (row["x"], row["y"]) == ("normalised_return", "stability"):
            said.append(f"Return and stability, {MODES[row['deterministic']]}: {correlation(row)}.")
    return said


def correlation(row: Row) -> str:
    """Says how two columns go together.

    Example:
        >>> correlation({"n": 5, "pearson": -0.9, "pearson_p": 0.03})
        'the higher the one, the lower the other (r = -0.9, p = 0.03, n = 5)'
    """
    if is_missing(row["pearson"]):
        return f"too few agents to tell (n = {row['n']})"
    numbers = f"(r = {number(row['pearson'])}, p = {row['pearson_p']:.2g}, n = {row['n']})"
    if row["pearson_p"] >= SIGNIFICANCE:
        return f"no correlation shown {numbers}"
    return f"the higher the one, the {'higher' if row['pearson'] > 0 else 'lower'} the other {numbers}"
