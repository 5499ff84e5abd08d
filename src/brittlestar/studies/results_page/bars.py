"""The bars of the project: what was asked for, what was measured, and the verdict of the interval."""

from brittlestar.results.compare import Comparison
from brittlestar.results.format import bounded_column, markdown, text
from brittlestar.results.load import Row
from brittlestar.studies.pages import MET, MISSED, judge, percent, points
from brittlestar.studies.results_page.parts import Part, by_level, find_part
from brittlestar.studies.results_page.plan import NOISES, ROBUST, SAC, ResultsPlan
from brittlestar.studies.results_page.published import TASKS
from brittlestar.studies.results_page.robust import STEPS, pairs, points_with_interval

_REACH_FINAL, _PUSH = 0.99, {"success_any": 0.95, "success_final": 0.90}
_ROBUST_AT, _ROBUST_ANY, _COST = 0.05, 0.85, 0.04
_UNTRAINED = {"measured": "not trained yet", "verdict": "-"}


def bars(plan: ResultsPlan) -> str:
    """Returns the table of bars."""
    rows = []
    for role in (SAC, ROBUST):
        for name in plan.policies[f"fetch_reach.{role}"]:
            rows.append(_rate_bar(plan, "fetch_reach", role, name, "success_final", _REACH_FINAL))
    for name in plan.policies[f"fetch_push.{SAC}"]:
        rows += [_rate_bar(plan, "fetch_push", SAC, name, measure, bar) for measure, bar in _PUSH.items()]
        rows += _published_bar(plan, SAC, name)
    for name in plan.policies[f"fetch_push.{ROBUST}"]:
        rows.append(_rate_bar(plan, "fetch_push", ROBUST, name, "success_any", _ROBUST_ANY, _ROBUST_AT))
        rows += _published_bar(plan, ROBUST, name)
    return markdown(rows + _cost_bars(plan), ["bar", "asked", "measured", "verdict"])


def _rate_bar(plan: ResultsPlan, task: str, role: str, name: str, measure: str, bar: float, sigma: float = 0.0) -> Row:
    part, noise = find_part(plan, task, "observation", role), f"sigma = {text(sigma)}" if sigma else "no noise"
    row = {"bar": f"{TASKS[task]}, `{name}`, {noise}, {STEPS[measure]}", "asked": f">= {percent(bar)}"}
    if part is None or name not in part.trainings:
        return row | _UNTRAINED
    tables = part.trainings[name]
    level = by_level(tables)[sigma]
    lowest = min(cell[measure] for cell in tables.cells if cell["strength"] == sigma)
    measured = f"{bounded_column(level, measure, percent)}, n = {level['n_episodes']}; lowest seed {percent(lowest)}"
    return row | {"measured": measured, "verdict": judge(bar, level[f"{measure}_low"], level[f"{measure}_high"])}


def _published_bar(plan: ResultsPlan, role: str, name: str) -> list[Row]:
    """Returns the bar of one policy at all published levels; none where no figures are given."""
    if not plan.published:
        return []
    row = {"bar": f"FetchPush-v4, `{name}`, all published levels, any step", "asked": "not below the published rate"}
    parts = [find_part(plan, "fetch_push", noise, role) for noise, roles in NOISES.items() if role in roles]
    trained = [part for part in parts if part is not None and name in part.trainings]
    if not trained:
        return [row | _UNTRAINED]
    gaps = [(part, gap) for part in trained for gap in part.gaps(name)]
    below = [_below(part, gap) for part, gap in gaps if gap["below"]]
    measured = f"below at {len(below)} of {len(gaps)} levels" + (f": {'; '.join(below)}" if below else "")
    return [row | {"measured": measured, "verdict": MISSED if below else MET}]


def _below(part: Part, gap: Row) -> str:
    noise = part.noise.replace("_", "-")
    return f"{noise} {text(gap['x'])} ({percent(gap['ours'])}, published {percent(gap['published'])})"


def _cost_bars(plan: ResultsPlan) -> list[Row]:
    row = {"bar": "FetchPush-v4, cost without noise, any step", "asked": f"<= {points(_COST)[1:]} points"}
    comparisons = pairs(plan, "fetch_push", "success_any")
    return [row | _cost(pair) for pair in comparisons] or [row | _UNTRAINED]


def _cost(pair: Comparison) -> Row:
    clean = next(row for row in pair.levels if row["strength"] == 0)
    loss = {"difference": -clean["difference"], "low": -clean["high"], "high": -clean["low"]}
    same = "the same" if pair.paired else "DIFFERENT"
    # A cost of at most the bar is a gain of at least its negative.
    mark = judge(-_COST, clean["low"], clean["high"])
    measured = f"{points_with_interval(loss)}, p = {clean['p']:.2g}, {same} {clean['n_a']} episodes"
    return {"measured": measured, "verdict": mark}
