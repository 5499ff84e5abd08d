"""What may help: filters on actions and on observations, and votes of the policy."""

from brittlestar.mitigations.action_filters import ClipAction, HoldAction, MovingAverageAction, RateLimitAction
from brittlestar.mitigations.base import ActionFilter, Mitigation, ObservationFilter
from brittlestar.mitigations.compose import Compose
from brittlestar.mitigations.ensemble import Ensemble
from brittlestar.mitigations.kalman import KalmanObservation
from brittlestar.mitigations.low_pass import LowPass
from brittlestar.mitigations.observation_filters import (
    ExponentialObservation,
    HoldLastObservation,
    MedianObservation,
    MovingAverageObservation,
)

__all__ = [
    "ActionFilter",
    "ClipAction",
    "Compose",
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
