"""Mitigations: filters of actions and observations, and votes of the policy."""

# ruff: noqa: F401
from __future__ import annotations

from typing import TYPE_CHECKING

from brittlestar import lazily

if TYPE_CHECKING:
    from brittlestar.mitigations.action_filters import (
        ClipAction,
        HoldAction,
        LowPass,
        MovingAverageAction,
        RateLimitAction,
    )
    from brittlestar.mitigations.base import ActionFilter, Mitigation, ObservationFilter
    from brittlestar.mitigations.compose import ComposedMitigation
    from brittlestar.mitigations.ensemble import Ensemble
    from brittlestar.mitigations.kalman import KalmanObservation
    from brittlestar.mitigations.observation_filters import (
        ExponentialObservation,
        HoldLastObservation,
        MedianObservation,
        MovingAverageObservation,
    )

# Imported on use: a cell needs one or two classes, and importing all takes a tenth of a second.
__getattr__, __dir__ = lazily(__name__, __file__)
__all__ = __dir__()
