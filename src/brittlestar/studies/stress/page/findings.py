"""What the tables show: false alarms against the accepted rate, and sentences that are computed from the tables."""

import importlib
import math

import numpy as np

from brittlestar.results.format import is_missing
from brittlestar.results.load import Row
from brittlestar.results.ranges import SHARE, cut
from brittlestar.statistics.conformal import conformal_rank
from brittlestar.statistics.hypothesis_tests import holm
from brittlestar.statistics.intervals import LEVEL, normal_quantile, wilson
from brittlestar.studies.pages import percent, points, three_digits
from brittlestar.studies.stress.agents import MODES
from brittlestar.studies.stress.page.tables import BenchmarkTables, agent_columns, collapsed, mean
from brittlestar.studies.stress.rigorous import split
from brittlestar.studies.stress.runs import is_silent
from brittlestar.studies.stress.scoring import BASELINE

SIGNIFICANT = 0.05


def findings(tables: BenchmarkTables, alarms: list[Row], alpha: float) -> list[str]:
    """Returns the main results, one sentence or two each."""
    lines = [_alarms(alarms, alpha), *_harm(tables), _silent(tables), _returns(tables), _recovery(tables)]
    return [line for line in (*lines, _modes(tables), *_correlations(tables)) if line]


def _alarms(alarms: list[Row], alpha: float) -> str:
    events, episodes = (sum(row[name] for row in alarms) for name in ("events", "episodes"))
    line = f"Without stress {percent(events / episodes)} of {episodes} episodes count as a collapse; "
    line += f"{percent(alpha)} is accepted."
    above = [row for row in alarms if row["p_holm"] < SIGNIFICANT]
    if above:
        names = ", ".join(f"`{row['policy']}` ({row['mode']}, {percent(row['rate'])})" for row in above)
        return f"{line} **The promise is broken** by {names}: more than chance explains."
    return f"{line} No agent of {len(alarms)} is above that by more than chance explains."


def _harm(tables: BenchmarkTables) -> list[str]:
    """Returns sentences on the hardest and the mildest stressor that acts."""
    rows = {name: [row for row in tables.under(name) if not is_silent(row)] for name in tables.acting}
    excess = {name: mean(row["excess"] for row in part) for name, part in rows.items()}
    acting = sorted(excess, key=lambda name: -excess[name])
    openings = {"The hardest stressor is": acting[:1], "The mildest of those that change anything is": acting[1:][-1:]}
    return [
        f"{opening} `{name}`: {percent(mean(row['rate_shock'] for row in rows[name]))} of the episodes in the shock "
        f"collapse on average, {points(excess[name])} points against the same ones without stress; beyond chance for "
        f"{sum(map(collapsed, rows[name]))} of {len(tables.under(name))} agents."
        for opening, names in openings.items()
        for name in names
    ]


def _silent(tables: BenchmarkTables) -> str:
    silent = sum(map(is_silent, tables.stress))
    if not silent:
        return ""
    pairs = sum(row["perturbation"] in tables.stressors for row in tables.stress)
    names = " and ".join(f"`{name}`" for name in sorted(tables.silent))
    always = f", always so under {names}" if names else ""
    return f"In {silent} of {pairs} pairs of agent and stressor no action changed{always}: no collapse."


def _returns(tables: BenchmarkTables) -> str:
    """Returns a sentence on agents whose behaviour collapses while their return does not."""
    rows = [row for row in tables.stress if row["perturbation"] in tables.acting and collapsed(row)]
    rows = [row for row in rows if not is_missing(row["return_p_value"])]
    if not rows:
        return "No collapse is shown beyond chance."
    hidden = sum(not row["return_p_value"] < SIGNIFICANT for row in rows)
    return (
        f"In {hidden} of {len(rows)} collapses beyond chance the return alone does not show it "
        f"(its paired test has p >= {SIGNIFICANT:g})."
    )


def _recovery(tables: BenchmarkTables) -> str:
    rows = [row for row in tables.stress if collapsed(row)]
    if not rows:
        return ""
    back = percent(mean(row["recovered"] for row in rows))
    return f"After a collapse {back} of the runs are back to three calm episodes in a row before they end."


def _modes(tables: BenchmarkTables) -> str:
    rates: dict[str, list[float]] = {mode: [] for mode in MODES.values()}
    for (*_, mode), rows in tables.agents().items():
        rates[mode] += [row["rate_shock"] for name, row in rows.items() if name in tables.acting]
    if not all(rates.values()):
        return ""
    likeliest, sampled = (percent(mean(values)) for values in rates.values())
    return (
        f"Under the stressors that act, {likeliest} of the episodes collapse with deterministic actions, "
        f"{sampled} with sampled ones."
    )


def _correlations(tables: BenchmarkTables) -> list[str]:
    rows = [row for row in tables.correlations if (row["x"], row["y"]) == ("normalised_return", "stability")]
    return [f"Return and stability, {MODES[row['deterministic']]}: {correlation_sentence(row)}." for row in rows]


def correlation_sentence(row: Row) -> str:
    """Returns in words how two columns are correlated.

    Example:
        >>> correlation_sentence({"n": 5, "pearson": -0.9, "pearson_p": 0.03})
        'the higher the one, the lower the other (r = -0.9, p = 0.03, n = 5)'
    """
    if is_missing(row["pearson"]):
        return f"too few agents (n = {row['n']})"
    numbers = f"(r = {three_digits(row['pearson'])}, p = {row['pearson_p']:.2g}, n = {row['n']})"
    if row["pearson_p"] >= SIGNIFICANT:
        return f"no correlation shown {numbers}"
    return f"the higher the one, the {'higher' if row['pearson'] > 0 else 'lower'} the other {numbers}"


def alarm_rows(tables: BenchmarkTables, reference: int, alpha: float) -> list[Row]:
    """Returns the false alarms of every agent, with reference passes of `reference` episodes and `alpha` accepted.

    `events` of `episodes` without stress were called a collapse: `rate`. If the promise holds with equality, `error` is
    the standard deviation of the rate, and `p` the probability of so many events or more; `p_holm` is corrected over
    all agents. The interval is Wilson's and at least 1.96 errors: episodes of a seed share a threshold.
    """
    rows = []
    for row in tables.under(BASELINE):
        episodes, seeds = int(row["n_episodes"]), int(row["n_seeds"])
        events = round(row["false_alarms"] * episodes)
        chances = event_chances(episodes // seeds, seeds, reference - split(reference), alpha)
        counts = np.arange(len(chances))
        variance = float(chances @ counts**2 - (chances @ counts) ** 2)
        rate, error = events / episodes, math.sqrt(variance) / episodes
        reach, interval = normal_quantile(LEVEL) * error, wilson(events, episodes)
        low, high = cut(SHARE, rate, min(interval.low, rate - reach), max(interval.high, rate + reach))
        numbers = {"rate": rate, "rate_low": low, "rate_high": high, "error": error}
        numbers["p"] = min(1.0, float(chances[events:].sum()))
        rows.append(agent_columns(row) | {"events": events, "episodes": episodes} | numbers)
    adjusted = holm([row["p"] for row in rows]).tolist() if rows else []
    return [row | {"p_holm": p} for row, p in zip(rows, adjusted, strict=True)]


def event_chances(episodes: int, seeds: int, calibrated: int, alpha: float) -> np.ndarray:
    """Returns the probability of 0, 1, 2, ... events without stress, if scores have no ties.

    The threshold of a seed is the k-th smallest of its `calibrated` held-out scores, k = ceil((n + 1) (1 - alpha)), so
    the chance of an event is Beta(n + 1 - k, k) distributed over reference passes: `episodes` of one seed share theirs.

    Example:
        >>> chances = event_chances(120, 3, 200, 0.05)
        >>> round(float(chances @ np.arange(len(chances))) / 360, 4), len(chances)
        (0.0498, 361)
    """
    rank = conformal_rank(calibrated, alpha)
    if rank > calibrated:
        # No threshold is safe, so there are no events.
        return np.eye(1, episodes * seeds + 1)[0]
    betabinom = importlib.import_module("scipy.stats").betabinom
    seed = betabinom.pmf(np.arange(episodes + 1), episodes, calibrated + 1 - rank, rank)
    chances = np.ones(1)
    for _ in range(seeds):
        chances = np.convolve(chances, seed)
    return chances
