"""What a race gives: tables, sentences, `race.json`, and its section of the report."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from brittlestar.cells.files import write_file
from brittlestar.reports.sections import Section
from brittlestar.results.format import bounded, markdown
from brittlestar.results.load import Row
from brittlestar.results.write import write_rows
from brittlestar.statistics.betting import betting_interval
from brittlestar.statistics.intervals import Interval
from brittlestar.statistics.rate_sequence import rate_sequence
from brittlestar.studies.race.charts import difference_chart, draw_differences
from brittlestar.studies.race.duels import RaceMetric
from brittlestar.studies.race.finished import FinishedRace
from brittlestar.studies.race.sentences import methods, pair_verdict, race_verdict

RESULT, TABLE, PAIRS, PICTURE = "race.json", "race", "race_pairs", "race_differences"
_LIMITS = [
    "Differences at the moment of a decision are larger than the true ones on average: the interval allows for that, "
    "the estimate does not.",
    "A verdict holds for the environment, the perturbation and the strength of the race.",
]
_SHOWN = ("race", "contestant", "mean", "episodes", "result")
_SHOWN_PAIRS = ("first", "second", "difference", "pairs", "fixed design", "verdict")


def race_section(races: list[FinishedRace], settings: dict[str, Any], out: Path) -> Section:
    """Writes the files of a race, and returns its section."""
    alpha = float(settings["alpha"])
    rows = [row for race in races for row in contestant_rows(race, alpha)]
    pairs = [row for race in races for row in pair_rows(race, settings)]
    write_rows(rows, out / TABLE)
    write_rows(pairs, out / PAIRS)
    verdicts = [(race.field.name, race_verdict(race, settings)) for race in races]
    write_file(out / RESULT, json.dumps(_content(races, settings, verdicts, alpha), indent=1) + "\n")
    draw_differences(races, out / PICTURE)
    body = "\n\n".join(
        [
            "\n".join(f"{name}: {sentence}" for name, sentence in verdicts),
            markdown([_shown(row) for row in rows], _SHOWN),
            markdown([_shown_pair(row) for row in pairs], ("race",) * (len(races) > 1) + _SHOWN_PAIRS),
        ]
    )
    charts = [difference_chart(races, [PICTURE])]
    # The page ends each of them with a point.
    findings = [(name, sentence.rstrip(".")) for name, sentence in verdicts]
    return Section(
        "Race", body, [PICTURE], [TABLE, PAIRS], methods(races, settings), _LIMITS, charts, findings=findings
    )


def contestant_rows(race: FinishedRace, alpha: float) -> list[Row]:
    """Returns a row for each contestant: its mean, and how it ended."""
    rows = []
    for place, one in enumerate(race.field.contestants):
        values = one.values(race.scale.metric)
        values = values[~np.isnan(values)]
        low, high = _mean_interval(values, race.scale, alpha)
        rows.append(
            {
                "race": race.field.name,
                "contestant": one.name,
                "metric": race.scale.metric,
                "mean": float(values.mean()) if values.size else math.nan,
                "mean_low": low,
                "mean_high": high,
                "episodes": one.episodes,
                "result": _result(race, place),
            }
        )
    return rows


def pair_rows(race: FinishedRace, settings: dict[str, Any]) -> list[Row]:
    """Returns a row for each pair: the difference with its interval, wins, pairs, and the verdict."""
    rows = []
    for duel in race.duels:
        (first, second), (difference, low, high) = race.names(duel), race.difference(duel)
        fixed, (won, lost) = duel.fixed_pairs(race.scale.is_event), duel.wins
        rows.append(
            {
                "race": race.field.name,
                "first": first,
                "second": second,
                "metric": race.scale.metric,
                "difference": difference,
                "difference_low": low,
                "difference_high": high,
                "first_wins": won,
                "second_wins": lost,
                "pairs": duel.decision.pairs,
                "missing": duel.missing,
                "is_decided": duel.decision.sign != 0,
                "fixed_pairs": fixed if math.isfinite(fixed) else math.nan,
                "verdict": pair_verdict(race, duel),
                "alpha": duel.rule.alpha,
                "test": settings["test"],
            }
        )
    return rows


def _mean_interval(values: np.ndarray, scale: RaceMetric, alpha: float) -> tuple[float, float]:
    """Returns the anytime-valid interval of a mean."""
    if not values.size:
        return math.nan, math.nan
    if scale.is_event:
        interval = rate_sequence(values.sum(), values.size, alpha)
    else:
        middle, half = (scale.low + scale.high) / 2, (scale.high - scale.low) / 2
        scaled = betting_interval(np.clip((values - middle) / half, -1, 1), (alpha / 2, alpha / 2))
        interval = Interval(*(middle + half * end for end in scaled))
    return float(interval.low), float(interval.high)


def _result(race: FinishedRace, place: int) -> str:
    """Returns how a contestant ended, in a few words."""
    if race.field.contestants[place].failed:
        return "failed"
    if race.reference is not None:
        duel = next((duel for duel in race.duels if duel.first == place), None)
        return "reference" if duel is None else pair_verdict(race, duel)
    losses = [d for d in race.duels if d.decision.sign and place == (d.second if d.decision.sign > 0 else d.first)]
    if losses:
        lost = min(losses, key=lambda duel: duel.decision.pairs)
        winner = race.names(lost)[0 if lost.decision.sign > 0 else 1]
        return f"beaten by {winner} after {lost.decision.pairs} pairs"
    return "not beaten" if race.winner is None else "best"


def _content(
    races: list[FinishedRace], settings: dict[str, Any], verdicts: list[tuple[str, str]], alpha: float
) -> dict[str, Any]:
    """Returns what `race.json` holds."""
    return {
        "settings": settings,
        "races": [
            {
                "race": name,
                "verdict": sentence,
                "best": race.winner,
                "contestants": [_finite(row) for row in contestant_rows(race, alpha)],
                "pairs": [_finite(row) for row in pair_rows(race, settings)],
            }
            for race, (name, sentence) in zip(races, verdicts, strict=True)
        ],
    }


def _finite(row: Row) -> Row:
    return {key: None if isinstance(value, float) and not math.isfinite(value) else value for key, value in row.items()}


def _shown(row: Row) -> Row:
    return row | {"mean": bounded(row["mean"], row["mean_low"], row["mean_high"], ".3g")}


def _shown_pair(row: Row) -> Row:
    difference = bounded(row["difference"], row["difference_low"], row["difference_high"], "+.3g")
    fixed = "" if math.isnan(row["fixed_pairs"]) else f"{row['fixed_pairs']:.0f} pairs"
    return row | {"difference": difference, "fixed design": fixed}
