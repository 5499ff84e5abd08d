"""Whether a measure on recorded episodes ranks policies as their success does, level by level."""

from __future__ import annotations

import math
from dataclasses import dataclass

from brittlestar.results.format import bounded, is_missing, text
from brittlestar.results.load import Row
from brittlestar.statistics.correlations import LEAST_PAIRS, spearman
from brittlestar.statistics.hypothesis_tests import holm
from brittlestar.statistics.rank_intervals import spearman_interval
from brittlestar.studies.offline.measures import LOWER_IS_BETTER, OFFLINE_MEASURES


@dataclass
class Level:
    """Success of every policy at one level: value and bounds by name of the policy."""

    name: str
    success: dict[str, tuple[float, float, float]]


def agreement_rows(policies: list[Row], levels: list[Level]) -> list[Row]:
    """Returns Spearman's correlation of every measure with success at every level.

    The sign of errors and distances is turned, so that 1 means that the measure ranks the policies as success does.
    Intervals are 95 %; `p_holm` is adjusted for all rows.
    """
    rows: list[Row] = []
    for measure in present_measures(policies):
        for level in levels:
            pairs = [(row[measure], level.success[row["policy"]][0]) for row in policies
                     if not is_missing(row.get(measure)) and row["policy"] in level.success]  # fmt: skip
            sign = -1 if measure in LOWER_IS_BETTER else 1
            result = spearman([sign * x for x, _ in pairs], [y for _, y in pairs])
            low, high = spearman_interval(result.r, result.n)
            rows.append({"measure": measure, "level": level.name, "policies": result.n, "correlation": result.r,
                         "correlation_low": low, "correlation_high": high, "p": result.p})  # fmt: skip
    for row, p in zip(rows, holm([row["p"] for row in rows]), strict=True):
        row["p_holm"] = float(p)
    return rows


def present_measures(policies: list[Row]) -> list[str]:
    """Returns the measures that some policy has."""
    return [name for name in OFFLINE_MEASURES if any(not is_missing(row.get(name)) for row in policies)]


def agreement_verdict(policies: list[Row], levels: list[Level], agreements: list[Row]) -> str:
    """Returns in one line where the first measure can be trusted to choose a policy."""
    measures = present_measures(policies)
    if not measures or not levels:
        return "no success to compare with: measure in closed loop, or add `--sweep`"
    measure = measures[0]
    count = len([row for row in policies if not is_missing(row.get(measure))])
    if count < LEAST_PAIRS:
        return f"{count} {'policy' if count == 1 else 'policies'}: a rank correlation needs {LEAST_PAIRS}"
    rows = [row for row in agreements if row["measure"] == measure]
    groups = {"ranks": [], "reverses": [], "open": [], "undefined": []}  # type: dict[str, list[str]]
    for row in rows:
        groups[_status(row)].append(f"{row['level']} ({agreement_text(row)})")
    parts = []
    if groups["ranks"]:
        parts.append(f"a lower {measure} goes with more success at {', '.join(groups['ranks'])}")
    if groups["reverses"]:
        parts.append(f"with less success at {', '.join(groups['reverses'])}")
    if groups["open"]:
        parts.append(f"not decided at {', '.join(groups['open'])}")
    if groups["undefined"]:
        parts.append(
            f"all policies succeed alike at {', '.join(name.partition(' (')[0] for name in groups['undefined'])}"
        )
    return f"{count} policies: {'; '.join(parts)}. {_choice(policies, levels, measure)}"


def _status(row: Row) -> str:
    if is_missing(row["correlation"]):
        return "undefined"
    if row["correlation_low"] > 0:
        return "ranks"
    return "reverses" if row["correlation_high"] < 0 else "open"


def agreement_text(row: Row) -> str:
    """Writes a correlation with its interval."""
    if is_missing(row["correlation"]):
        return "undefined"
    return bounded(row["correlation"], row["correlation_low"], row["correlation_high"], ".2f")


def _choice(policies: list[Row], levels: list[Level], measure: str) -> str:
    """Compares the policy that the measure would choose with the best one at the last level."""
    last = levels[-1]
    valid = [row for row in policies if not is_missing(row.get(measure)) and row["policy"] in last.success]
    if not valid:
        return ""
    sign = 1 if measure in LOWER_IS_BETTER else -1
    chosen = min(valid, key=lambda row: sign * row[measure])["policy"]
    best = max(valid, key=lambda row: last.success[row["policy"]][0])["policy"]
    own, top = (last.success[name][0] for name in (chosen, best))
    if own == top:
        return f"The policy that it chooses, {chosen}, is the best at {last.name} ({text(top)})"
    return f"It chooses {chosen} ({text(own)} at {last.name}); the best there is {best} ({text(top)})"


def levels_of(
    policies: list[Row], curves: dict[str, dict[str, Row]], measure: str | None, clean: str | None
) -> list[Level]:
    """Returns success at every level of a sweep, or in the closed loops of this command without a sweep.

    Args:
        policies: the rows of the policies.
        curves: name of a policy to the rows of its curve, by level.
        measure: the metric of the sweep.
        clean: the metric of the closed loops.
    """
    if measure is not None:
        names = list(dict.fromkeys(name for rows in curves.values() for name in rows))
        return [Level(name, {policy: _bounds(rows[name], measure) for policy, rows in curves.items() if name in rows})
                for name in names]  # fmt: skip
    success = {row["policy"]: _bounds(row, clean) for row in policies if clean and not is_missing(row.get(clean))}
    return [Level("closed loop", success)] if success else []


def _bounds(row: Row, name: str) -> tuple[float, float, float]:
    values = [math.nan if is_missing(row.get(name + end)) else float(row[name + end]) for end in ("", "_low", "_high")]
    return values[0], values[1], values[2]
