"""The summary of a schedule: collapse rates per phase, drops, tail of the returns, recovery."""

import math

import numpy as np

from brittlestar.studies.stress.compat_channels import CHANNELS
from brittlestar.studies.stress.scoring import PHASES, Scored, mean_or_nan

_CALM_EPISODES = 3
"""So many episodes in a row without an event are a recovery; one alone may be chance."""


def phase_summary(scored: Scored) -> dict[str, float]:
    """Returns the numbers of one schedule; nan for a phase without episodes.

    `rate_*` are collapse rates, `rate_pre` is the false-alarm rate. Drops are PRE minus SHOCK, so that a loss is
    positive. `recovery_episodes` counts episodes of POST, and `residual` is PRE minus POST of the identity.
    """
    within = {phase: scored.within(phase) for phase in PHASES}
    row = {
        "episodes": float(len(scored.score)),
        "return_mean": float(scored.returns.mean()),
        "return_std": float(scored.returns.std()),
        "identity_mean": float(scored.identity.mean()),
        "identity_std": float(scored.identity.std()),
        "rate": float(scored.event.mean()),
    }
    row |= {f"rate_{phase}": mean_or_nan(scored.event[rows]) for phase, rows in within.items()}
    columns = {name: scored.channels[:, i] for i, name in enumerate(CHANNELS)}
    for name, values in (columns | {"identity": scored.identity, "return": scored.returns}).items():
        pre, shock, post = (mean_or_nan(values[rows]) for rows in within.values())
        row |= {f"{name}_pre": pre, f"{name}_shock": shock, f"{name}_post": post, f"{name}_drop": pre - shock}
    shocked = scored.returns[within["shock"]]
    row |= {"cvar_05": cvar(shocked, 0.05), "cvar_25": cvar(shocked, 0.25)}
    row |= {"shock_score": scored.shock_score, "shock_event": float(scored.shock_event), "threshold": scored.threshold}
    row |= {f"mad_{name}": float(mad) for name, mad in zip(CHANNELS, scored.mads, strict=False)}
    row["recovery_episodes"] = recovery_episodes(scored.event[within["post"]])
    row["residual"] = row["identity_pre"] - row["identity_post"]
    return row


def cvar(returns: np.ndarray, share: float) -> float:
    """Returns the mean of the worst `ceil(share n)` returns.

    Example:
        >>> cvar(np.array([5.0, 1.0, 3.0, 2.0]), 0.5)
        1.5
    """
    worst = max(1, math.ceil(share * len(returns) - 1e-9))
    return mean_or_nan(np.sort(returns)[:worst])


def recovery_episodes(events: np.ndarray) -> float:
    """Returns how many episodes after the shock pass until three in a row are without an event; nan if never.

    Example:
        >>> recovery_episodes(np.array([True, False, True, False, False, False]))
        3.0
        >>> recovery_episodes(np.array([True, False, True]))
        nan
    """
    window = min(_CALM_EPISODES, len(events))
    if not window:
        return math.nan
    quiet = np.lib.stride_tricks.sliding_window_view(~np.asarray(events, dtype=bool), window).all(axis=1)
    return float(np.argmax(quiet)) if quiet.any() else math.nan
