"""Correlations over the agents of a leaderboard, such as of return and stability."""

from __future__ import annotations

from brittlestar.results.load import Row
from brittlestar.statistics.correlations import pearson, spearman

_PAIRS = (
    ("return and stability", "normalised_return", "stability"),
    ("return and robust score", "normalised_return", "robust_score"),
    ("return and robust score without its reward term", "normalised_return", "robust_score_bare"),
    ("reward_norm and robust score", "reward_norm", "robust_score"),
    ("reward_norm and robust score without its reward term", "reward_norm", "robust_score_bare"),
)
_COMPAT_PAIRS = (
    ("compat_1_4: reward_norm and score", "compat_reward_norm", "compat_score"),
    ("compat_1_4: reward_norm and score without its reward term", "compat_reward_norm", "compat_score_bare"),
    ("compat_1_4: reward_norm and CR_shock under valence_inversion", "compat_reward_norm", "compat_rate_inverted"),
)
_PUBLISHED_PAIRS = (("reward_norm and CR_shock under valence_inversion", "reward_norm", "rate_inverted"),)


def correlation_rows(rows: list[Row]) -> list[Row]:
    """Returns Pearson's and Spearman's correlations with p values, one row per pair and mode.

    The modes are apart, because both are the same agents. nan for fewer than three agents, or where all have the same
    value.

    Args:
        rows: of the leaderboard.
    """
    pairs = (*_PAIRS, *(_COMPAT_PAIRS if "compat_score" in rows[0] else _PUBLISHED_PAIRS))
    correlations = []
    for deterministic in sorted({row["deterministic"] for row in rows}, reverse=True):
        members = [row for row in rows if row["deterministic"] == deterministic]
        for name, x, y in pairs:
            columns = [row[x] for row in members], [row[y] for row in members]
            linear, ranks = pearson(*columns), spearman(*columns)
            numbers = {"n": linear.n, "pearson": linear.r, "pearson_p": linear.p}
            numbers |= {"spearman": ranks.r, "spearman_p": ranks.p}
            correlations.append({"correlation": name, "x": x, "y": y, "deterministic": deterministic} | numbers)
    return correlations
