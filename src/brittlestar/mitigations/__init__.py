"""What may help: filters on actions and on observations, and votes of the policy."""

from brittlestar.mitigations.action_filters import ClipAction, HoldAction, MovingAverageAction, RateLimitAction
from brittlestar.mitigations.base import ActionFilter, Mitigation, ObservationFilter
from brittlestar.mitigations.low_pass import LowPass

__all__ = [
    "ActionFilter",
    "ClipAction",
    "HoldAction",
    "LowPass",
    "Mitigation",
    "MovingAverageAction",
    "ObservationFilter",
    "RateLimitAction",
]
