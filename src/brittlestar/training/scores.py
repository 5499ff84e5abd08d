"""Summarises the episodes of an evaluation: mean return and success rates, with intervals."""

from typing import Any

import numpy as np

from brittlestar.engine.plan import Rows
from brittlestar.results.format import bounded
from brittlestar.results.load import RATES
from brittlestar.statistics import intervals


def mean_scores(rows: Rows) -> dict[str, float]:
    """Returns mean return and success rates, without a rate that the environment does not define."""
    columns = {name: rows.column(name) for name in ("return", *RATES)}
    return {name: float(np.mean(values)) for name, values in columns.items() if np.isfinite(values).all()}


def score_intervals(rows: Rows) -> dict[str, Any]:
    """Returns mean return and success rates with 95 % intervals over episodes: Student t and Wilson, as in tables."""
    scores: dict[str, Any] = {"episodes": len(rows.values)}
    for name, mean in mean_scores(rows).items():
        values = rows.column(name)
        if name in RATES:
            interval = intervals.wilson(int(values.sum()), len(values))
            scores[name] = {"mean": mean, "low": float(interval.low), "high": float(interval.high)}
        else:
            std = float(values.std(ddof=1))
            half = float(intervals.t_half_width(std, len(values)))
            scores[name] = {"mean": mean, "std": std, "low": mean - half, "high": mean + half}
    return scores


def score_line(scores: dict[str, Any]) -> str:
    """Writes the result of `score_intervals` in a line.

    Example:
        >>> score_line({"episodes": 9, "success_any": {"mean": 0.5, "low": 0.25, "high": 0.75}})
        'success_any 50.0 % [25.0, 75.0], 9 episodes'
    """
    texts = [f"{name} {score_text(score, name in RATES)}" for name, score in scores.items() if isinstance(score, dict)]
    return ", ".join([*texts, f"{scores['episodes']} episodes"])


def score_text(score: dict[str, float] | None, percent: bool = False) -> str:
    """Writes one score with its interval; empty for a missing score.

    Example:
        >>> score_text({"mean": -1.5, "low": -2.0, "high": -1.0}), score_text(None)
        ('-1.5 [-2, -1]', '')
    """
    if score is None:
        return ""
    mean, low, high = score["mean"], score["low"], score["high"]
    return bounded(100 * mean, 100 * low, 100 * high, ".1f", unit=" %") if percent else bounded(mean, low, high)


def rank(scores: list[dict[str, Any]]) -> tuple[float, float]:
    """Returns the sort key of a policy by its scores: success at the end of the episode first, then the return.

    Example:
        >>> good = {"return": {"mean": 1.0}, "success_final": {"mean": 0.9}}
        >>> rank([good]) > rank([{"return": {"mean": 2.0}, "success_final": {"mean": 0.8}}])
        True
    """
    rates = [score["success_final"]["mean"] if "success_final" in score else 0.0 for score in scores]
    return float(np.mean(rates)), float(np.mean([score["return"]["mean"] for score in scores]))
