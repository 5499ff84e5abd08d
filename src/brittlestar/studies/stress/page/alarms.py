"""False alarms of each agent against the accepted rate, with the error that so many episodes leave."""

from __future__ import annotations

import importlib
import math

import numpy as np

from brittlestar.results.load import Row
from brittlestar.statistics.conformal import conformal_rank
from brittlestar.statistics.hypothesis_tests import holm
from brittlestar.statistics.intervals import wilson
from brittlestar.studies.stress.page.tables import BenchmarkTables, agent_columns
from brittlestar.studies.stress.rigorous import split
from brittlestar.studies.stress.scoring import BASELINE


def alarm_rows(tables: BenchmarkTables, reference: int, alpha: float) -> list[Row]:
    """Returns the false alarms of every agent.

    `events` of `episodes` without stress were called a collapse: `rate`, with Wilson's `low` and `high`. If the
    promise holds with equality, `error` is the standard deviation of the rate, and `p` the probability of so many
    events or more; `p_holm` is corrected over all agents.

    Args:
        tables: of the benchmark.
        reference: episodes of a reference pass.
        alpha: the accepted rate.
    """
    rows = []
    for row in tables.under(BASELINE):
        episodes, seeds = int(row["n_episodes"]), int(row["n_seeds"])
        events = round(row["false_alarms"] * episodes)
        chances = event_chances(episodes // seeds, seeds, reference - split(reference), alpha)
        counts = np.arange(len(chances))
        variance = float(chances @ counts**2 - (chances @ counts) ** 2)
        interval = wilson(events, episodes)
        rate = {"rate": events / episodes, "rate_low": float(interval.low), "rate_high": float(interval.high)}
        chance = {"error": math.sqrt(variance) / episodes, "p": min(1.0, float(chances[events:].sum()))}
        rows.append(agent_columns(row) | {"events": events, "episodes": episodes} | rate | chance)
    adjusted = holm([row["p"] for row in rows]).tolist() if rows else []
    return [row | {"p_holm": p} for row, p in zip(rows, adjusted, strict=True)]


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
        # No threshold is safe, so there are no events.
        return np.eye(1, episodes * seeds + 1)[0]
    betabinom = importlib.import_module("scipy.stats").betabinom
    one = betabinom.pmf(np.arange(episodes + 1), episodes, calibrated + 1 - rank, rank)
    chances = np.ones(1)
    for _ in range(seeds):
        chances = np.convolve(chances, one)
    return chances
