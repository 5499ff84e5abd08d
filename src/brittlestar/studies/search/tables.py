"""The tables of a search: what was found, its parts, all points, and the sentence on top."""

from __future__ import annotations

from brittlestar.errors import counted
from brittlestar.results.format import bounded
from brittlestar.results.load import Row
from brittlestar.studies.search.plan import (
    BREAKING_SHARE,
    RANDOM,
    SEARCH,
    Confirmed,
    SearchOutcome,
    Tried,
    breaking_points,
)

CONFIRMED, OPEN, REFUTED = "confirmed", "open", "refuted"


_EFFECTS = {CONFIRMED: "breaks it", OPEN: "may break it", REFUTED: "broke it in the search, but not on fresh seeds"}


def decision(found: Confirmed) -> str:
    """Whether at least half of all episodes fail: by the interval of the share on fresh seeds."""
    low, high = found.interval
    return CONFIRMED if low >= BREAKING_SHARE else REFUTED if high < BREAKING_SHARE else OPEN


def front(tried: list[Tried]) -> list[Tried]:
    """Returns the trade-off front: points such that no nearer one fails as often, the nearest first."""
    best, points = -1.0, list[Tried]()
    for point in sorted(tried, key=lambda p: (p.distance, -(p.share or 0.0))):
        if point.share is not None and point.share > best:
            best = point.share
            points.append(point)
    return points


def ratio(outcome: SearchOutcome) -> float | None:
    """Returns the distance of the search's combination as a share of that of random draws."""
    found, other = outcome.found.get(SEARCH), outcome.found.get(RANDOM)
    return found.found.distance / other.found.distance if found and other else None


def result_rows(outcomes: dict[str, SearchOutcome]) -> list[Row]:
    """Returns what search and random draws found for each policy."""
    rows: list[Row] = []
    for name, outcome in outcomes.items():
        for method in (SEARCH, RANDOM):
            tried, found = outcome.tried.get(method, []), outcome.found.get(method)
            low, high = found.interval if found else (None, None)
            rows.append(
                {
                    "policy": name,
                    "method": method,
                    "points": len(tried),
                    "breaking_points": len(breaking_points(tried)),
                    "distance": found.found.distance if found else None,
                    "failure_rate": found.share if found else None,
                    "failure_rate_low": low,
                    "failure_rate_high": high,
                    "episodes": found.episodes if found else None,
                    "decision": decision(found) if found else "none",
                    "ratio": ratio(outcome) if method == SEARCH else None,
                }
            )
    return rows


def part_rows(outcomes: dict[str, SearchOutcome]) -> list[Row]:
    """Returns each part: its critical level alone, and its value in the combination that was found."""
    rows: list[Row] = []
    for name, outcome in outcomes.items():
        found = {method: one.found.values for method, one in outcome.found.items() if one}
        for strength, unit in zip(outcome.space.strengths, outcome.units, strict=False):
            sign = -1 if strength.end < 0 else 1
            row: Row = {"policy": name, "part": strength.part, "key": strength.key}
            row |= {"critical_alone": sign * unit.size, "breaks_alone": "yes" if unit.breaks else "no"}
            values = {method: found[method][strength.key] if method in found else None for method in (SEARCH, RANDOM)}
            shares = {f"{m}_units": None if v is None else abs(v) / unit.size for m, v in values.items()}
            rows.append(row | values | shares)
        for factor in outcome.space.others:
            row = {"policy": name, "part": factor.name, "key": factor.key, "critical_alone": None, "breaks_alone": ""}
            values = {method: found[method][factor.key] if method in found else None for method in (SEARCH, RANDOM)}
            rows.append(row | values | {f"{method}_units": None for method in values})
    return rows


def point_rows(outcomes: dict[str, SearchOutcome]) -> list[Row]:
    """Returns all points that were tried on the episodes of the search."""
    rows: list[Row] = []
    for name, outcome in outcomes.items():
        for method, tried in outcome.tried.items():
            best = {id(point) for point in front(tried)}
            for number, point in enumerate(tried):
                row: Row = {"policy": name, "method": method, "point": number, "distance": point.distance}
                row |= {"failure_rate": point.share, "on_front": int(id(point) in best)}
                rows.append(row | point.values)
    keys = dict.fromkeys(key for row in rows for key in row)
    return [{key: row.get(key) for key in keys} for row in rows]


def search_verdict(outcome: SearchOutcome) -> str:
    """Returns the finding on one policy in a sentence."""
    if not outcome.clean.done:
        return "the clean cell failed, so there is no search"
    if outcome.is_incapable:
        return f"incapable: it fails in {outcome.clean_share:.0%} of the episodes without any perturbation"
    if outcome.refusals:
        return f"no search: its parts do not run: {'; '.join(dict.fromkeys(outcome.refusals))}"
    if not any(point.share is not None for tried in outcome.tried.values() for point in tried):
        return "no search: all of its cells failed"
    points = sum(map(len, outcome.tried.values()))
    found, other = outcome.found.get(SEARCH), outcome.found.get(RANDOM)
    if found is None and other is not None:
        tried, draws = counted(len(outcome.tried[SEARCH]), "point"), len(outcome.tried[RANDOM])
        best = f"the best of {draws} random draws is {other.found.distance:.3g} away"
        return f"the search finds nothing that breaks it among {tried}; {best}"
    if found is None:
        return (
            f"nothing breaks it within the ranges: no combination among {counted(points, 'point')} fails often enough"
        )
    low, high = found.interval
    share = bounded(100 * found.share, 100 * low, 100 * high, ".0f", unit=" %")
    text = (
        f"a combination {found.found.distance:.3g} critical levels from nominal {_EFFECTS[decision(found)]} "
        f"({combination(outcome, found.found)}): it fails in {share} of {found.episodes} fresh episodes, "
        f"{decision(found)}"
    )
    if other is None:
        return f"{text}; no random draw breaks it"
    return f"{text}; the best of {len(outcome.tried[RANDOM])} random draws is {other.found.distance:.3g} away"


def combination(outcome: SearchOutcome, point: Tried) -> str:
    """Writes the parts of a point that are on, and other values."""
    texts = []
    for strength in outcome.space.strengths:
        if point.values[strength.key]:
            texts.append(f"{strength.key.removeprefix('perturbation.parts.')} {point.values[strength.key]:.3g}")
    return ", ".join(texts + [f"{factor.name} {point.values[factor.key]:.3g}" for factor in outcome.space.others])
