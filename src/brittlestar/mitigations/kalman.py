"""A Kalman filter of observations with a constant-velocity model of every number."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from brittlestar.errors import UserError, require
from brittlestar.mitigations.base import ArrayFilter, ObservationFilter
from brittlestar.perturbations.context import Calibration, Context
from brittlestar.perturbations.observations import Scale

CALIBRATED = "calibrated"
_TINY = np.finfo(np.float64).tiny


@dataclass
class KalmanObservation(ObservationFilter):
    """Shows the estimate of the true `x` from all observations `o` of the episode, separately for each number.

    Per step, `x += v + a / 2`, `v += a` with `a = process_sigma * N(0, 1)`, and `o = x + measurement_sigma * N(0, 1)`.
    An episode starts from `x = o`, `v = speed_sigma * N(0, 1)`.

    Example:
        >>> from gymnasium import spaces
        >>> from brittlestar.perturbations import Step
        >>> box = spaces.Box(-9.0, 9.0, (1,))
        >>> kalman = KalmanObservation(measurement_sigma=1.0, process_sigma=0.0, speed_sigma=0.0)
        >>> kalman.bind(box, box, lanes=1)
        >>> [kalman.mitigate_observation(np.array([[o]]), Step.full(first=o == 1.0)).item() for o in (1.0, 2.0, 6.0)]
        [1.0, 1.5, 3.0]
    """

    measurement_sigma: float | str
    """Standard deviation of the noise to remove; 0 shows the observation unchanged. `calibrated` takes the error of
    each number at full level, from a short pass in which the true value is known."""
    process_sigma: float | str = CALIBRATED
    """Standard deviation of the change of speed per step; `calibrated` takes it from a short clean pass."""
    speed_sigma: float | str = CALIBRATED
    """Standard deviation of the speed per step at the start of an episode, or `calibrated`."""
    scale: Scale = "absolute"
    """Unit of the numbers above: that of the observation (`absolute`), or standard deviations of each observed number
    from a short clean pass (`std`)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("measurement_sigma", "process_sigma", "speed_sigma"):
            value = getattr(self, name)
            if not isinstance(value, str):
                require(value >= 0, name, "at least 0", value)
            elif value != CALIBRATED:
                raise UserError(f"`{name}` must be a number or {CALIBRATED}, got {value!r}")

    def prepare(self, context: Context) -> None:
        if self.scale == "std" or CALIBRATED in (self.process_sigma, self.speed_sigma):
            self._calibration: Calibration = context.calibrate()
        if self.measurement_sigma == CALIBRATED:
            self._noise = context.measure_noise()

    def new_filter(self, key: str) -> ArrayFilter:
        unit = self._calibration.std[key] if self.scale == "std" else 1.0

        def size(value: float | str, calibrated: str, factor: float) -> Any:
            return factor * getattr(self._calibration, calibrated)[key] if isinstance(value, str) else value * unit

        # The measured acceleration averages two successive changes of speed, so it has half the variance of one.
        process = size(self.process_sigma, "acceleration", np.sqrt(2.0))
        sigma = self.measurement_sigma
        measurement = self._noise[key] if isinstance(sigma, str) else sigma * unit
        return ConstantVelocity(measurement, process, size(self.speed_sigma, "speed", 1.0))


class ConstantVelocity:
    """The filter for arrays of lanes, separate for each number.

    Its arguments are standard deviations: of the noise, of the change of speed per step, and of the speed at the start.
    """

    def __init__(self, measurement: Any, process: Any, speed: Any) -> None:
        self._seen, self._moves, self._speed = (np.square(size) for size in (measurement, process, speed))
        self._place = self._velocity = self._p_place = self._p_both = self._p_velocity = np.zeros(1)

    def __call__(self, array: np.ndarray, first: np.ndarray) -> np.ndarray:
        array = array.astype(np.float64)
        p_place = self._p_place + 2 * self._p_both + self._p_velocity + self._moves / 4
        p_both = self._p_both + self._p_velocity + self._moves / 2
        total = np.maximum(p_place + self._seen, _TINY)
        surprise = array - (self._place + self._velocity)
        trust = self._seen / total
        # Computed from the observation, so that without noise the result is exactly the observation.
        self._place = array - trust * surprise
        self._velocity = self._velocity + p_both / total * surprise
        self._p_place, self._p_both = p_place * trust, p_both * trust
        self._p_velocity = np.maximum(self._p_velocity + self._moves - p_both * p_both / total, 0.0)
        if first.any():
            self._start(array, first)
        return self._place

    def _start(self, array: np.ndarray, first: np.ndarray) -> None:
        self._place = np.where(first, array, self._place)
        self._velocity = np.where(first, 0.0, self._velocity)
        self._p_place = np.where(first, self._seen, self._p_place)
        self._p_both = np.where(first, 0.0, self._p_both)
        self._p_velocity = np.where(first, self._speed, self._p_velocity)
