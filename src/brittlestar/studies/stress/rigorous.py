"""Channels and score without memory: each episode by itself, from actions and true return, against a reference."""

from dataclasses import dataclass, replace

import numpy as np

from brittlestar.engine.behaviour import Behaviour
from brittlestar.engine.entropy import share_entropy
from brittlestar.errors import UserError
from brittlestar.statistics.conformal import conformal_threshold

LEAST_FITTED, LEAST_CALIBRATED = 30, 200
HALF_LIFE = 3.0
"""Robust standard deviations away from the reference where a channel is one half."""

_FARTHEST = 30.0
_FLOOR = 0.01
"""Least spread of numbers without a unit, and least spread of an action relative to how much it moves at all."""
_RELATIVE_FLOOR = 1e-6


@dataclass(frozen=True)
class Reference:
    """What is normal, from the first part of a reference pass, and the threshold, from the rest of it.

    Attributes:
        centre: median of each entry of behaviour.
        spread: robust standard deviation of each, the unit in which episodes are compared.
        change: root mean square of the change of each entry within an episode.
        usual: median of the five measures of trouble.
        unit: robust standard deviation of the same.
        threshold: conformal, on the held-out episodes.
        calibrated: how many they are.
    """

    centre: np.ndarray
    spread: np.ndarray
    change: np.ndarray
    usual: np.ndarray
    unit: np.ndarray
    threshold: float = np.inf
    calibrated: int = 0


def fit(reference: Behaviour, alpha: float) -> Reference:
    """Fits what is normal on the first part of a reference pass, and sets the threshold on the rest.

    No episode does both, so that held-out and new episodes are exchangeable: P(false alarm) <= alpha.
    """
    first = split(len(reference))
    fitted, held_out = reference.pick(slice(first)), reference.pick(slice(first, None))
    normal = _entry_scales(fitted)
    trouble = _trouble(normal, fitted)
    unit = np.maximum(_robust_spread(trouble), _FLOOR)
    # A return has a unit of its own, so its floor is relative; where all are 0, any loss is far away.
    returns = trouble[:, 0]
    unit[0] = max(_robust_spread(returns), _RELATIVE_FLOOR * np.abs(returns).max(), np.finfo(np.float64).tiny)
    normal = replace(normal, usual=np.median(trouble, axis=0), unit=unit)
    scores = rigorous_score(normal, held_out)
    return replace(normal, threshold=float(conformal_threshold(scores, alpha)), calibrated=len(scores))


def split(episodes: int) -> int:
    """Returns how many reference episodes are for fitting: a third, if 200 stay for the threshold.

    Example:
        >>> split(300), split(240)
        (100, 40)
    """
    fitted = min(episodes // 3, episodes - LEAST_CALIBRATED)
    if fitted < LEAST_FITTED:
        raise UserError(
            f"`scoring=rigorous` needs at least {LEAST_FITTED + LEAST_CALIBRATED} reference episodes "
            f"({LEAST_FITTED} to fit, {LEAST_CALIBRATED} for the threshold), got {episodes}"
        )
    return fitted


def excess(reference: Reference, behaviour: Behaviour) -> np.ndarray:
    """Returns how far each measure of trouble is above normal, `(episodes, 5)`, in robust standard deviations.

    In the order of `CHANNELS`: a lower return than usual; rougher actions; behaviour that changes more between the
    halves of the episode; behaviour farther from the reference; more evenly spread actions. Less trouble counts as 0.
    """
    with np.errstate(over="ignore"):
        return np.clip((_trouble(reference, behaviour) - reference.usual) / reference.unit, 0.0, _FARTHEST)


def channels(reference: Reference, behaviour: Behaviour) -> np.ndarray:
    """Returns the five channels, `(episodes, 5)`: `2 ** (-excess / 3)`; 1 is as in the reference, or better."""
    return 2.0 ** (-excess(reference, behaviour) / HALF_LIFE)


def rigorous_score(reference: Reference, behaviour: Behaviour) -> np.ndarray:
    """Returns the score of each episode, `1 - 2 ** (-r / 3)` with r the root mean square excess: 0 is normal."""
    squares = np.sort(excess(reference, behaviour) ** 2, axis=1)
    return 1.0 - 2.0 ** (-np.sqrt(squares.mean(axis=1)) / HALF_LIFE)


def _trouble(normal: Reference, behaviour: Behaviour) -> np.ndarray:
    entries, layout = behaviour.block("entry"), behaviour.layout
    if layout.actions:
        roughness, spread_out = entries[:, -1], share_entropy(entries[:, :-1])
    else:
        roughness = _root_mean_square(entries[:, -layout.size :] / normal.spread[-layout.size :])
        spread_out = behaviour.column("entropy_axes")
    distance = _root_mean_square((entries - normal.centre) / normal.spread)
    change = _root_mean_square(behaviour.block("change") / normal.change)
    return np.column_stack([-behaviour.column("return"), roughness, change, distance, spread_out])


def _entry_scales(fitted: Behaviour) -> Reference:
    entries, layout = fitted.block("entry"), fitted.layout
    floor = np.full(entries.shape[1], _FLOOR)
    if not layout.actions:
        means, stds = entries[:, : layout.size], entries[:, layout.size : 2 * layout.size]
        moves = np.sqrt((stds**2).mean(axis=0) + means.var(axis=0))
        still = np.maximum(_RELATIVE_FLOOR * np.abs(means).max(axis=0), np.finfo(np.float64).tiny)
        floor = np.tile(np.maximum(_FLOOR * moves, still), 3)
    change = np.sqrt((fitted.block("change") ** 2).mean(axis=0))
    spread = np.maximum(_robust_spread(entries), floor)
    nothing = np.zeros(5)
    return Reference(np.median(entries, axis=0), spread, np.maximum(change, floor), nothing, nothing)


def _robust_spread(values: np.ndarray) -> np.ndarray:
    """1.4826 MAD; the standard deviation where more than half of the values are the same."""
    mad = 1.4826 * np.median(np.abs(values - np.median(values, axis=0)), axis=0)
    return np.where(mad > 0, mad, values.std(axis=0))


def _root_mean_square(values: np.ndarray) -> np.ndarray:
    """Sorts first: the order of the entries, so the names of actions, must not even change a rounding."""
    with np.errstate(over="ignore"):
        return np.sqrt(np.sort(np.minimum(values**2, 1e6), axis=1).mean(axis=1))
