"""False alarms of each agent against the accepted rate, with the error that so many episodes leave."""

from __future__ import annotations

import importlib
import math
from dataclasses import dataclass

import numpy as np

from brittlestar.results.load import Row
from brittlestar.statistics import intervals
from brittlestar.statistics.conformal import conformal_rank
from brittlestar.studies.stress.rigorous import split

from .tables import BASELINE, StudyTables, agent_of


@dataclass(frozen=True)
class Alarms:
    """False alarms of one agent.

    Attributes:
        agent: environment, policy and mode.
        events: episodes without stress that were called a collapse.
        episodes: without stress, of all seeds.
        rate: share of events, with Wilson's interval.
        error: standard deviation of the rate if the promise holds.
        p_value: probability of so many events, or more, if the promise holds with equality.
    """

    agent: tuple[str, str, bool]
    events: int
    episodes: int
    rate: float
    low: float
    high: float
    error: float
    p_value: float


def alarms(tables: StudyTables, reference: int, alpha: float) -> list[Alarms]:
    """Returns the false alarms of all agents.

    Args:
        tables: of the benchmark.
        reference: episodes of a reference pass.
        alpha: the accepted rate.
    """
    return [_alarms(row, reference, alpha) for row in tables.under(BASELINE)]


def _alarms(row: Row, reference: int, alpha: float) -> Alarms:
    episodes, seeds = int(row["n_episodes"]), int(row["n_seeds"])
    events = round(row["false_alarms"] * episodes)
    chances = event_chances(episodes // seeds, seeds, reference - split(reference), alpha)
    counts = np.arange(len(chances))
    variance = float(chances @ counts**2 - (chances @ counts) ** 2)
    wilson = intervals.wilson(events, episodes)
    return Alarms(
        agent_of(row), events, episodes, events / episodes, float(wilson.low), float(wilson.high),
        math.sqrt(variance) / episodes, min(1.0, float(chances[events:].sum())),
    )  # fmt: skip


def event_chances(episodes: int, seeds: int, calibrated: int, alpha: float) -> np.ndarray:
    """Returns the probability of 0, 1, 2, ... events without stress, if scores have no ties.

    The threshold of a seed is the k-th smallest of its held-out scores, k = ceil((n + 1) (1 - alpha)), so the chance
    of an event is Beta(n + 1 - k, k) distributed over reference passes: episodes of one seed share theirs.

    Args:
        episodes: without stress, per seed.
        seeds: each with a reference pass of its own.
        calibrated: held-out reference episodes per seed.
        alpha: the accepted rate.

    Example:
        >>> chances = event_chances(120, 3, 200, 0.05)
        >>> round(float(chances @ np.arange(len(chances))) / 360, 4), len(chances)
        (0.0498, 361)
    """
    rank = conformal_rank(calibrated, alpha)
    if rank > calibrated:
        # No threshold is safe, so there is none.
        return np.eye(1, episodes * seeds + 1)[0]
    betabinom = importlib.import_module("scipy.stats").betabinom
    one = betabinom.pmf(np.arange(episodes + 1), episodes, calibrated + 1 - rank, rank)
    found = np.ones(1)
    for _ in range(seeds):
        found = np.convolve(found, one)
    return found
