"""The five channels of the published benchmark, in episode order, slips included."""

import itertools
import math
from collections.abc import Sequence

import numpy as np

from brittlestar.engine.behaviour import Behaviour

CHANNELS = ("competence", "coherence", "continuity", "integrity", "meaning")
REFERENCE_WEIGHTS = np.array([0.25, 0.20, 0.15, 0.20, 0.20])
"""Of the channels before their spread is estimated."""

_RETURN_SCALE = 500.0
_LEAST_VARIANCE = 1e-8


def compat_channels(behaviour: Behaviour, phases: Sequence[str], proxy: bool) -> np.ndarray:
    """Returns the channels of episodes in order, `(episodes, 5)`, in the order of `CHANNELS`.

    The anchor and the usual entropy come from the phase `pre`. With `proxy` (version 1.4) entropy replaces meaning
    where the stressor reports none.
    """
    calm = np.array([phase == "pre" for phase in phases])
    signatures = behaviour.block("signature").astype(np.float32)
    meaning = _meaning(behaviour)
    if proxy:
        silent = (behaviour.column("violation") == 0) & (behaviour.column("regret") == 0)
        meaning[silent] = _entropy_meaning(behaviour.column("entropy")[silent], calm[silent])
    channels = (
        _competence(behaviour.column("return_seen")),
        _coherence(behaviour),
        _continuity(signatures),
        _integrity(signatures, calm),
        meaning,
    )
    return np.stack(channels, axis=1)


def sigmoid(values: np.ndarray) -> np.ndarray:
    """Returns `1 / (1 + exp(-values))`, without overflow.

    Example:
        >>> sigmoid(np.array([-1000.0, 0.0])).round(3).tolist()
        [0.0, 0.5]
    """
    return 1.0 / (1.0 + np.exp(-np.clip(values, -500.0, 500.0)))


def _competence(returns: np.ndarray) -> np.ndarray:
    usual, gaps = 0.0, []
    for value in returns.tolist():
        gaps.append(6.0 * (value - usual) / _RETURN_SCALE)
        usual = 0.95 * usual + 0.05 * value
    # The absolute value is the benchmark's slip: far below the trend scores as high as far above.
    return sigmoid(np.abs(gaps))


def _coherence(behaviour: Behaviour) -> np.ndarray:
    rough = behaviour.column("roughness")
    smooth = 1.0 - rough if behaviour.layout.actions else np.exp(-2.0 * rough)
    return np.where(behaviour.column("length") <= 2, 1.0, smooth)


def _continuity(signatures: np.ndarray) -> np.ndarray:
    near = [math.exp(-float(np.linalg.norm(now - last))) for last, now in itertools.pairwise(signatures)]
    return np.array([1.0, *near])[: len(signatures)]


def _integrity(signatures: np.ndarray, calm: np.ndarray) -> np.ndarray:
    anchor, count, values = None, 0, []
    for signature, is_calm in zip(signatures, calm, strict=True):
        if is_calm:
            count += 1
            anchor = signature if anchor is None else anchor + (signature - anchor) / np.float32(count)
        values.append(1.0 if anchor is None else math.exp(-float(np.linalg.norm(signature - anchor))))
    return np.array(values)


def _meaning(behaviour: Behaviour) -> np.ndarray:
    steps, total = behaviour.column("length"), np.abs(behaviour.column("return_seen"))
    scale = np.maximum(1.0, np.maximum(total, steps))
    violation, regret = (np.maximum(behaviour.column(name), 0.0) for name in ("violation", "regret"))
    return np.exp(-4.0 * violation / np.maximum(steps, 1.0)) * np.exp(-regret / scale)


def _entropy_meaning(entropies: np.ndarray, calm: np.ndarray) -> np.ndarray:
    usual, squares, count, steepness, values = None, 0.0, 0, 3.0, []
    for entropy, is_calm in zip(entropies.tolist(), calm, strict=True):
        if is_calm:
            count += 1
            last = entropy if usual is None else usual
            usual = 0.9 * last + 0.1 * entropy
            squares += (entropy - last) * (entropy - usual)
            if count >= 5:
                steepness = math.log(20.0) / (1.645 * math.sqrt(max(squares / (count - 1), _LEAST_VARIANCE)))
        excess = 0.0 if is_calm or usual is None else max(0.0, entropy - usual)
        values.append(math.exp(-steepness * excess))
    return np.array(values)
