"""Does a good return go with stability? Correlations over the agents of a leaderboard."""

from __future__ import annotations

import importlib
import itertools
import math

import numpy as np

from brittlestar.results.load import Row

LEAST = 3
"""Agents that a correlation needs."""
_MOST_PERMUTED = 8
"""For so many agents Spearman's p is exact; for more, by Student's t."""
PAIRS = (
    ("return and stability", "normalised_return", "stability"),
    ("return and robust score", "normalised_return", "robust_score"),
    ("return and robust score without its reward term", "normalised_return", "robust_score_bare"),
    ("reward_norm and robust score", "reward_norm", "robust_score"),
    ("reward_norm and robust score without its reward term", "reward_norm", "robust_score_bare"),
)
COMPAT_PAIRS = (
    ("compat_1_4: reward_norm and score", "compat_reward_norm", "compat_score"),
    ("compat_1_4: reward_norm and score without its reward term", "compat_reward_norm", "compat_score_bare"),
    ("compat_1_4: reward_norm and CR_shock under valence_inversion", "compat_reward_norm", "compat_rate_inverted"),
)
PUBLISHED_PAIRS = (("reward_norm and CR_shock under valence_inversion", "reward_norm", "rate_inverted"),)


def correlation_rows(rows: list[Row]) -> list[Row]:
    """Returns Pearson's and Spearman's correlations with p values, one row per pair and mode.

    The modes stay apart, because both are the same agents. nan where fewer than three agents are known, or where all
    have the same value.

    Args:
        rows: of the leaderboard.
    """
    pairs = (*PAIRS, *(COMPAT_PAIRS if "compat_score" in rows[0] else PUBLISHED_PAIRS))
    found = []
    for deterministic in sorted({row["deterministic"] for row in rows}, reverse=True):
        members = [row for row in rows if row["deterministic"] == deterministic]
        for name, x, y in pairs:
            numbers = correlate(np.array([row[x] for row in members]), np.array([row[y] for row in members]))
            found.append({"correlation": name, "x": x, "y": y, "deterministic": deterministic} | numbers)
    return found


def correlate(x: np.ndarray, y: np.ndarray) -> Row:
    """Returns both correlations of two columns, with two-sided p values; nan is left out.

    Example:
        >>> found = correlate(np.array([1.0, 2.0, 3.0, 9.0]), np.array([2.0, 4.0, 6.0, 7.0]))
        >>> found["n"], round(found["pearson"], 3), round(found["pearson_p"], 3), found["spearman"]
        (4, 0.826, 0.174, 1.0)
    """
    known = ~np.isnan(x) & ~np.isnan(y)
    x, y = x[known].round(12), y[known].round(12)
    row: Row = {"n": len(x)} | dict.fromkeys(("pearson", "pearson_p", "spearman", "spearman_p"), math.nan)
    if len(x) < LEAST or np.ptp(x) == 0 or np.ptp(y) == 0:
        return row
    scipy_stats = importlib.import_module("scipy.stats")
    for name, test in (("pearson", scipy_stats.pearsonr), ("spearman", scipy_stats.spearmanr)):
        r, p = test(x, y)
        row |= {name: min(1.0, max(-1.0, float(r))), f"{name}_p": float(p)}
    if len(x) <= _MOST_PERMUTED:
        row["spearman_p"] = _permuted_p(*(scipy_stats.rankdata(values) for values in (x, y)))
    return row


def _permuted_p(x: np.ndarray, y: np.ndarray) -> float:
    """Share of all orders of `y` that correlate with `x` at least as much; three agents in line prove little.

    Example:
        >>> round(_permuted_p(np.arange(3.0), np.arange(3.0)), 3)
        0.333
    """
    orders = np.array(list(itertools.permutations(y - y.mean())))
    products = np.abs(orders @ (x - x.mean()))
    return float(np.mean(products >= products[0] - 1e-9))
