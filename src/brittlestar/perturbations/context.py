"""What a part can know about its cell beyond the spaces: the policy, the plan and a short clean pass."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from brittlestar.errors import UserError

if TYPE_CHECKING:
    from brittlestar.policies.base import Policy


@dataclass
class Calibration:
    """Statistics of a clean pass, by key of the observation; the key of a plain observation is empty.

    Attributes:
        mean: mean of every observed number.
        std: standard deviation of every observed number.
        speed: root mean square of the change per step.
        acceleration: root mean square of the change of that change.
        median_length: median length of the episodes, in steps.
        reward_std: standard deviation of the rewards of all steps.
    """

    mean: dict[str, np.ndarray]
    std: dict[str, np.ndarray]
    speed: dict[str, np.ndarray] = field(default_factory=dict)
    acceleration: dict[str, np.ndarray] = field(default_factory=dict)
    median_length: float = math.nan
    reward_std: float = math.nan


def _no_calibration() -> Calibration:
    raise UserError(
        "stressors, `scale: std` and `fill: mean` need a calibration: `PerturbedEnv(..., calibration=Calibration(...))`"
    )


def _no_noise() -> dict[str, np.ndarray]:
    raise UserError("`measurement_sigma: calibrated` is measured in evaluations only: give a number")


@dataclass
class Context:
    """What `prepare` of a part receives.

    Attributes:
        policy: the policy that acts; None in a loop of the user.
        calibrate: runs the clean pass, the same for all seeds, and returns its statistics.
        compute_reward: of a goal environment: `(achieved goals, desired goals, info)` to rewards.
        calibrate_longer: like `calibrate`, on more episodes; None where `calibrate` is all there is.
        measure_noise: runs a pass at full level and returns the root mean square error of every observed number.
        levels: level at the start of each planned episode; a single 1 without a plan.
        max_steps: time limit of an episode.
        default_action: default action of the environment, if it has one.
        step_seconds: how long a step lasts; None if that is not known.
        sensor_groups: groups of sensors that fail together: name to positions in the observation.
    """

    policy: Policy | None = None
    calibrate: Callable[[], Calibration] = _no_calibration
    compute_reward: Callable[..., Any] | None = None
    calibrate_longer: Callable[[], Calibration] | None = None
    measure_noise: Callable[[], dict[str, np.ndarray]] = _no_noise
    levels: np.ndarray = field(default_factory=lambda: np.ones(1))
    max_steps: int | None = None
    default_action: float | list[float] | None = None
    sensor_groups: dict[str, list[int]] | None = None
    step_seconds: float | None = None

    def reference(self) -> Calibration:
        """Returns the calibration on the larger number of episodes."""
        return (self.calibrate_longer or self.calibrate)()
