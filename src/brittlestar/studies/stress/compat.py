"""The published benchmark's weights, collapse score and threshold, versions 1.0 and 1.4."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from brittlestar.studies.stress.compat_channels import CHANNELS, sigmoid

_SCALE = 1.4826
_ZERO, _TINY, _TINY_WEIGHT = 1e-6, 1e-8, 1e-12
_SHARPNESS = 2.5
_MEANING_WEIGHT = 0.4

Raw = Callable[["Norm", np.ndarray, bool], np.ndarray]


@dataclass(frozen=True)
class Norm:
    """What is normal: statistics of calm episodes, and the threshold that they give.

    Attributes:
        base: their mean identity.
        median: of integrity, drop of identity, and meaning.
        mad: median absolute deviation of the same.
        channel_mads: of all five channels.
        centre: median of the raw score.
        threshold: 95th percentile of the score; an event is at or above it.
    """

    base: float
    median: np.ndarray
    mad: np.ndarray
    channel_mads: np.ndarray
    centre: float = 0.0
    threshold: float = 0.0

    def signs(self, channels: np.ndarray, identities: np.ndarray) -> np.ndarray:
        """Returns integrity, drop of identity and meaning, `(episodes, 3)`."""
        drop = np.maximum(0.0, self.base - identities)
        return np.stack([channels[:, CHANNELS.index("integrity")], drop, channels[:, -1]], axis=1)


def mad(values: np.ndarray) -> np.ndarray:
    """Returns the median absolute deviation of each column.

    Example:
        >>> mad(np.array([[1.0], [2.0], [9.0]])).tolist()
        [1.0]
    """
    return np.median(np.abs(values - np.median(values, axis=0)), axis=0)


def weights(channels: np.ndarray) -> np.ndarray:
    """Returns the weights of the channels from all reference episodes: `1 / sqrt(max(mad, floor))`, normalised.

    Example:
        >>> weights(np.ones((3, 5))).round(3).tolist()
        [0.2, 0.2, 0.2, 0.2, 0.2]
    """
    spread = mad(channels)
    inverse = np.sqrt(1.0 / (np.maximum(spread, max(0.25 * float(np.median(spread)), 1e-3)) + _TINY_WEIGHT))
    inverse /= inverse.sum() + _TINY_WEIGHT
    return inverse / inverse.sum()


def weighted_sum(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Returns the weighted sum of each row; the identity of an episode is that of its channels.

    Example:
        >>> weighted_sum(np.array([[1.0, 0.5]]), np.array([0.5, 0.5])).tolist()
        [0.75]
    """
    # A matrix product rounds by the number of rows; equal episodes must give equal scores, to the last bit.
    return np.add.accumulate(values * weights, axis=1)[:, -1]


def calibrate(raw: Raw, channels: np.ndarray, identities: np.ndarray) -> Norm:
    """Returns what is normal from calm episodes: their channels, `(episodes, 5)`, and identities."""
    norm = Norm(float(identities.mean()), np.zeros(3), np.zeros(3), mad(channels))
    signs = norm.signs(channels, identities)
    norm = replace(norm, median=np.median(signs, axis=0), mad=mad(signs))
    raws = raw(norm, signs, True)
    limits = (0.1, 0.9) if raw is raw_1_0 else (0.0, 10.0)
    centre = float(np.clip(np.median(raws), *limits))
    threshold = float(np.percentile(sigmoid(_SHARPNESS * (raws - centre)), 95))
    return replace(norm, centre=centre, threshold=threshold)


def compat_score(raw: Raw, norm: Norm, signs: np.ndarray) -> np.ndarray:
    """Returns the collapse score of signs `(episodes, 3)`, in [0, 1]."""
    return sigmoid(_SHARPNESS * (raw(norm, signs, False) - norm.centre))


def raw_1_4(norm: Norm, signs: np.ndarray, calibrating: bool) -> np.ndarray:
    """Root of the weighted mean square of the three deviations; the weights are the MADs."""
    integrity, drop = _deviations(norm, signs)
    deficit = np.maximum(0.0, 1.0 - signs[:, 2])
    if norm.mad[2] > _ZERO:
        # Only here do calibration and scoring clip differently.
        z = (deficit - (1.0 - norm.median[2])) / (_SCALE * norm.mad[2] + _TINY)
        meaning = np.clip(z, 0.0 if calibrating else -6.0, 6.0)
    else:
        meaning = np.clip(deficit / 0.1, 0.0, 6.0)
    share = norm.mad / (norm.mad.sum() + _TINY)
    return np.sqrt(weighted_sum(np.column_stack([integrity, drop, meaning]) ** 2, share))


def raw_1_0(norm: Norm, signs: np.ndarray, calibrating: bool) -> np.ndarray:
    """Weighted mean of sigmoids of the three deviations; the steadier, the more weight."""
    # A mean over episodes may be a gain; this version counts it as no drop.
    signs = np.column_stack([signs[:, 0], np.maximum(signs[:, 1], 0.0), signs[:, 2]])
    z = np.column_stack(_deviations(norm, signs))
    flat = norm.mad[:2] < _ZERO
    if not calibrating:
        # The benchmark's slip: without spread, scoring takes the difference itself, calibration a huge multiple.
        worse = np.column_stack([norm.median[0] - signs[:, 0], signs[:, 1] - norm.median[1]])
        z = np.where(flat, np.clip(worse, -6.0, 6.0), z)
    meaning = 6.0 * np.clip(1.0 - signs[:, 2], 0.0, 1.0)
    weight = np.where(flat, _MEANING_WEIGHT, np.sqrt(np.minimum(1.0 / (_SCALE * norm.mad[:2] + _TINY), 1e6)))
    weight = np.append(weight, _MEANING_WEIGHT)
    return weighted_sum(sigmoid(1.25 * np.column_stack([z, meaning])), weight / (weight.sum() + _TINY_WEIGHT))


def _deviations(norm: Norm, signs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    spread = _SCALE * norm.mad + _TINY
    integrity = np.clip((norm.median[0] - signs[:, 0]) / spread[0], -6.0, 6.0)
    return integrity, np.clip((signs[:, 1] - norm.median[1]) / spread[1], -6.0, 6.0)
