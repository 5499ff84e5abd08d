"""Motion of all lanes at once: how actions change, and the way that the position goes."""

from typing import Any

import numpy as np

from brittlestar.envs import Signals


class Motion:
    """Smoothness, peak and energy of a stream of continuous actions.

    smoothness is the mean over t >= 1 of `sum_j (a_t - a_{t-1})^2`, peak_action is `max |a|`,
    action_energy is the sum of `a^2` over steps and dimensions.
    """

    def __init__(self, lanes: int, size: int) -> None:
        self.size, self._last = size, np.zeros((lanes, size))
        self._jumps, self._peak, self._energy = np.zeros((3, lanes))

    def begin(self, lane: int) -> None:
        """Clears a lane."""
        self._jumps[lane] = self._peak[lane] = self._energy[lane] = 0

    def update(self, action: np.ndarray, first: np.ndarray) -> None:
        """Takes one action of every lane, `(lanes, size)`."""
        action = action.astype(np.float64)
        self._jumps += np.where(first, 0.0, row_squares(action - self._last))
        np.maximum(self._peak, np.abs(action).max(axis=1), out=self._peak)
        self._energy += row_squares(action)
        self._last = action

    def values(self, lane: int, length: int) -> tuple[float, float, float]:
        """Returns the three numbers of a finished episode."""
        smoothness = self._jumps[lane] / (length - 1) if length > 1 else np.nan
        return smoothness, self._peak[lane], self._energy[lane]


class Jerk:
    """Third differences and spread of the first differences of a stream of continuous actions.

    jerk_rms is the root of the mean over t >= 3 of `(a_t - 3 a_{t-1} + 3 a_{t-2} - a_{t-3})^2`, velocity_variance the
    variance of `a_t - a_{t-1}`, both over steps and dimensions. An episode that is too short has none.
    """

    def __init__(self, lanes: int, size: int) -> None:
        # Differences of the last step, of first, second and third order; the third starts with a full past only.
        self._last, self._velocity, self._acceleration = np.zeros((3, lanes, size))
        self._squares, self._total, self._jerks = np.zeros((3, lanes))

    def begin(self, lane: int) -> None:
        """Clears a lane."""
        self._squares[lane] = self._total[lane] = self._jerks[lane] = 0

    def update(self, action: np.ndarray, length: np.ndarray) -> None:
        """Takes one action of every lane, `(lanes, size)`, and the number of actions before it."""
        action = action.astype(np.float64)
        velocity = action - self._last
        acceleration = velocity - self._velocity
        moved = length > 0
        self._squares += np.where(moved, row_squares(velocity), 0.0)
        self._total += np.where(moved, velocity.sum(axis=1), 0.0)
        self._jerks += np.where(length > 2, row_squares(acceleration - self._acceleration), 0.0)
        self._last, self._velocity, self._acceleration = action, velocity, acceleration

    def values(self, lane: int, length: int) -> tuple[float, float]:
        """Returns the two numbers of a finished episode."""
        size = self._last.shape[1]
        jerks, moves = (length - 3) * size, (length - 1) * size
        jerk = float(np.sqrt(self._jerks[lane] / jerks)) if jerks > 0 else np.nan
        if moves <= 0:
            return jerk, np.nan
        # Rounding may leave a small negative number.
        return jerk, max(0.0, float(self._squares[lane] / moves - (self._total[lane] / moves) ** 2))


class Path:
    """Length of the way that the position signal goes, over the observations that the policy gets."""

    def __init__(self, lanes: int, signals: Signals) -> None:
        assert signals.position_indices is not None
        self._key, self._indices = signals.position_key, signals.position_indices
        self._last, self.length = np.zeros((lanes, len(self._indices))), np.zeros(lanes)

    def begin(self, lane: int) -> None:
        """Clears a lane."""
        self.length[lane] = 0

    def update(self, observation: Any, first: np.ndarray) -> None:
        """Takes the observation of every lane before a step."""
        position = self._position(observation)
        self.length += np.where(first, 0.0, np.linalg.norm(position - self._last, axis=1))
        self._last = position

    def length_to(self, lane: int, observation: Any) -> float:
        """Returns the length with the last observation of an episode."""
        return float(self.length[lane] + np.linalg.norm(self._position(observation)[lane] - self._last[lane]))

    def _position(self, observation: Any) -> np.ndarray:
        array = observation[self._key] if self._key else observation
        return array[:, self._indices].astype(np.float64)


def row_squares(values: np.ndarray) -> np.ndarray:
    """Returns the sum of the squares of each row."""
    return np.einsum("ij,ij->i", values, values)
