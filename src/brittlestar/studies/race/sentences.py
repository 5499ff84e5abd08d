"""The verdict of a race in sentences, and how it was made."""

from __future__ import annotations

import math
from typing import Any

from brittlestar.errors import counted
from brittlestar.results.format import bounded
from brittlestar.statistics.paired_sample_size import POWER
from brittlestar.studies.race.duels import Duel
from brittlestar.studies.race.finished import FinishedRace


def pair_verdict(race: FinishedRace, duel: Duel) -> str:
    """Returns the result of a pair in a few words."""
    (first, second), sign = race.names(duel), duel.decision.sign
    if sign > 0:
        return f"{first} is better"
    if sign < 0:
        return f"{second} is better" if race.reference is None else f"{first} is not better"
    if duel.is_alike:
        return f"alike within {duel.margin:g}"
    return "not decided" if duel.wins != (0, 0) else "not decided, no difference in any pair"


def race_verdict(race: FinishedRace, settings: dict[str, Any]) -> str:
    """Returns the result of a race in one or a few sentences."""
    failed = [one.name for one in race.field.contestants if one.failed]
    parts = [f"{', '.join(failed)} left the race because a cell failed."] if failed else []
    if race.reference is not None:
        return " ".join([_against_reference(race, duel, settings) for duel in race.duels] + parts)
    if race.winner is not None:
        return " ".join([_winner(race, race.left[0]), *parts])
    remaining = [duel for duel in race.duels if {duel.first, duel.second} <= set(race.left)]
    beaten = [_loss(race, place) for place in sorted(race.beaten)]
    return " ".join([_without_winner(race, duel, settings) for duel in remaining] + beaten + parts)


def methods(races: list[FinishedRace], settings: dict[str, Any]) -> list[str]:
    """Returns how verdicts and intervals are made."""
    alpha, rule = settings["alpha"], next((duel.rule for race in races for duel in race.duels), None)
    pairs = sum(len(race.duels) for race in races)
    shares = f", shared by {pairs} pairs" if pairs > 1 else ""
    if settings["test"] == "budget":
        test = f"an exact test that spends its error rate evenly over {settings['budget']} pairs, fixed in advance"
    elif races and races[0].scale.is_event:
        test = "an e-process on the pairs that only one side solves (Beta(1/2, 1/2) mixture over the win share)"
    else:
        test = "an e-process by betting on the differences, which are bounded (mixture of bets)"
    each = "" if rule is None else f"; each bound of an interval holds with {1 - rule.tail:.4g}"
    return [
        f"Race: the same episodes for all, a look after every pair, {test}. The chance of any wrong verdict is at most "
        f"{alpha:g}{shares}.",
        f"Differences: betting intervals that hold at every look together{each}. Means of contestants: a confidence "
        f"sequence of {1 - float(alpha):.4g} each.",
        f"Fixed design: pairs with which the exact McNemar test (a t test for numbers) has {POWER:.0%} power at the "
        "same error rate, if the true difference is the observed one.",
    ]


def _difference(race: FinishedRace, duel: Duel) -> str:
    """Writes the difference; a test with a budget may decide while the interval still holds 0."""
    low, high = duel.decision.interval
    wide = duel.decision.sign != 0 and low <= 0 <= high
    return bounded(*race.difference(duel), "+.3g") + (
        " (the interval is that of the test without an end)" if wide else ""
    )


def _fixed(race: FinishedRace, duel: Duel) -> str:
    fixed = duel.fixed_pairs(race.scale.is_event)
    return f"; a fixed design needs about {fixed:.0f}" if math.isfinite(fixed) else ""


def _winner(race: FinishedRace, place: int) -> str:
    """Returns who wins, and by how much over each of those that it beat itself."""
    name, metric = race.field.contestants[place].name, race.scale.metric
    own = [d for d in race.duels if d.decision.sign and place == (d.first if d.decision.sign > 0 else d.second)]
    others = {race.names(d)[1 if d.first == place else 0] for d in own}
    head = f"{name} is better than {', '.join(sorted(others))}"
    gaps = []
    for duel in own:
        first, second = race.names(duel)
        gaps.append(
            f"{first} minus {second} in {metric} {_difference(race, duel)}, decided after "
            f"{counted(duel.decision.pairs, 'pair')}{_fixed(race, duel)}"
        )
    rest = [_loss(race, i) for i in sorted(race.beaten) if race.field.contestants[i].name not in others]
    return " ".join([f"{head} ({'; '.join(gaps)}).", *rest])


def _loss(race: FinishedRace, place: int) -> str:
    """Returns by whom a contestant was beaten first."""
    own = [d for d in race.duels if d.decision.sign and place == (d.second if d.decision.sign > 0 else d.first)]
    duel = min(own, key=lambda one: one.decision.pairs)
    winner = race.names(duel)[0 if duel.decision.sign > 0 else 1]
    return f"{winner} beats {race.field.contestants[place].name} after {counted(duel.decision.pairs, 'pair')}."


def _without_winner(race: FinishedRace, duel: Duel, settings: dict[str, Any]) -> str:
    """Returns how far a pair is that has no winner."""
    first, second = race.names(duel)
    pairs = counted(duel.decision.pairs, "pair")
    gap = f"{first} minus {second} in {race.scale.metric} {_difference(race, duel)}"
    if duel.is_alike:
        return f"{first} and {second} are alike: {gap} after {pairs}, within {duel.margin:g}."
    within = f"within the budget of {pairs}" if _is_spent(duel, settings) else f"after {pairs}"
    return f"Not decided {within}: {gap}{_outlook(duel)}."


def _against_reference(race: FinishedRace, duel: Duel, settings: dict[str, Any]) -> str:
    first, second = race.names(duel)
    if duel.decision.sign == 0:
        return _without_winner(race, duel, settings)
    verdict = "is better than" if duel.decision.sign > 0 else "is not better than"
    decided = f"decided after {counted(duel.decision.pairs, 'pair')}{_fixed(race, duel)}"
    return f"{first} {verdict} {second} (difference in {race.scale.metric} {_difference(race, duel)}, {decided})."


def _is_spent(duel: Duel, settings: dict[str, Any]) -> bool:
    return duel.decision.pairs + duel.missing >= settings["budget"]


def _rounded(pairs: float) -> str:
    return f"{float(f'{pairs:.2g}'):.0f}"


def _outlook(duel: Duel) -> str:
    if duel.decision.pairs and duel.wins == (0, 0):
        alike = duel.pairs_until_alike()
        line = ", without a difference in any pair"
        return line + (f"; about {_rounded(alike)} more without one show that they are alike" if alike < 1e6 else "")
    more = duel.pairs_left()
    return f"; about {_rounded(more)} more pairs decide it, if the difference is as it looks" if more < 1e6 else ""
