"""What parts may ask about a cell beyond its spaces: the policy, the simulators, and a short clean pass."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from brittlestar.errors import UserError
from brittlestar.policies.base import Policy


@dataclass
class Calibration:
    """Mean and standard deviation of every observed number; of every key, for a dict observation.

    Attributes:
        mean: key to the means; the key of a plain observation is empty.
        std: key to the standard deviations.
        speed: key to the root mean squares of the change from step to step.
        acceleration: key to the root mean squares of the change of that change.
        median_length: of the episodes, in steps.
        reward_std: standard deviation of the rewards of all steps.

    Example:
        >>> Calibration({"": np.zeros(2)}, {"": np.array([1.0, 0.1])}).std[""].tolist()
        [1.0, 0.1]
    """

    mean: dict[str, np.ndarray]
    std: dict[str, np.ndarray]
    speed: dict[str, np.ndarray] = field(default_factory=dict)
    acceleration: dict[str, np.ndarray] = field(default_factory=dict)
    median_length: float = math.nan
    reward_std: float = math.nan


def _unknown() -> Calibration:
    raise UserError(
        "stressors, `scale: std` and `fill: mean` need a calibration: `PerturbedEnv(..., calibration=Calibration(...))`"
    )


def _unmeasured() -> dict[str, np.ndarray]:
    raise UserError("`measurement_sigma: calibrated` is measured in evaluations only: give a number")


@dataclass
class Context:
    """What a part may ask for in `prepare`.

    Attributes:
        policy: the policy that acts; None where somebody else's loop acts.
        calibrate: runs the clean pass, the same for all seeds, and returns what it measured.
        compute_reward: of a goal environment, `(achieved goals, desired goals, info)` to rewards; None without one.
        calibrate_longer: like `calibrate`, on more episodes; None where that is all there is.
        measure_noise: runs a pass under full stress, and returns the root mean square error of every observed number.
        levels: of stress at the start of each planned episode; one, where nobody plans.
        max_steps: of an episode, where there is a limit.
        default_action: what is sent when nothing else is, if the environment says so.
        sensor_groups: name to places in the observation of sensors that fail together, if the environment names any.
    """

    policy: Policy | None = None
    calibrate: Callable[[], Calibration] = _unknown
    compute_reward: Callable[..., Any] | None = None
    calibrate_longer: Callable[[], Calibration] | None = None
    measure_noise: Callable[[], dict[str, np.ndarray]] = _unmeasured
    levels: np.ndarray = field(default_factory=lambda: np.ones(1))
    max_steps: int | None = None
    default_action: float | list[float] | None = None
    sensor_groups: dict[str, list[int]] | None = None

    @property
    def stressed_episodes(self) -> int:
        """How many of the planned episodes are stressed."""
        return int((self.levels > 0).sum())

    def reference(self) -> Calibration:
        """Returns the calibration on most episodes."""
        return (self.calibrate_longer or self.calibrate)()
