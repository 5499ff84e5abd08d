"""What may help: filters on actions and on observations, and votes of the policy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from brittlestar import lazily

if TYPE_CHECKING:
    from brittlestar.mitigations.action_filters import ClipAction, HoldAction, MovingAverageAction, RateLimitAction
    from brittlestar.mitigations.base import ActionFilter, Mitigation, ObservationFilter
    from brittlestar.mitigations.compose import ComposedMitigation
    from brittlestar.mitigations.ensemble import Ensemble
    from brittlestar.mitigations.kalman import KalmanObservation
    from brittlestar.mitigations.low_pass import LowPass
    from brittlestar.mitigations.observation_filters import (
        ExponentialObservation,
        HoldLastObservation,
        MedianObservation,
        MovingAverageObservation,
    )

_HOMES = {
    "action_filters": "ClipAction HoldAction MovingAverageAction RateLimitAction",
    "base": "ActionFilter Mitigation ObservationFilter",
    "compose": "ComposedMitigation",
    "ensemble": "Ensemble",
    "kalman": "KalmanObservation",
    "low_pass": "LowPass",
    "observation_filters": "ExponentialObservation HoldLastObservation MedianObservation MovingAverageObservation",
}

__all__ = [
    "ActionFilter",
    "ClipAction",
    "ComposedMitigation",
    "Ensemble",
    "ExponentialObservation",
    "HoldAction",
    "HoldLastObservation",
    "KalmanObservation",
    "LowPass",
    "MedianObservation",
    "Mitigation",
    "MovingAverageAction",
    "MovingAverageObservation",
    "ObservationFilter",
    "RateLimitAction",
]

# Imported on use: a cell needs one or two of them, and all take a tenth of a second.
__getattr__, __dir__ = lazily(__name__, _HOMES)
