"""What parts may ask about a cell beyond its spaces: the policy, the simulators, and a short clean pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from brittlestar.errors import UserError
from brittlestar.perturbations.base import Perturbation, Step

if TYPE_CHECKING:
    from brittlestar.policies.base import Policy

EPISODES = 8
"""Of the clean pass."""


@dataclass
class Calibration:
    """Mean and standard deviation of every observed number; of every key, for a dict observation.

    Example:
        >>> Calibration({"": np.zeros(2)}, {"": np.array([1.0, 0.1])}).std[""].tolist()
        [1.0, 0.1]
    """

    mean: dict[str, np.ndarray]
    std: dict[str, np.ndarray]


def _unknown() -> Calibration:
    raise UserError(
        "`scale: std` and `fill: mean` need a calibration: `PerturbedEnv(..., calibration=Calibration(...))`"
    )


@dataclass
class Context:
    """What a part may ask for in `prepare`.

    Attributes:
        policy: the policy that acts; None where somebody else's loop acts.
        calibrate: runs the clean pass, the same for all seeds, and returns what it measured.
        compute_reward: of a goal environment, `(achieved goals, desired goals, info)` to rewards; None without one.
    """

    policy: Policy | None = None
    calibrate: Callable[[], Calibration] = _unknown
    compute_reward: Callable[..., Any] | None = None


@dataclass
class ObservationRecorder(Perturbation):
    """Passes observations on and remembers their sums, episode by episode: lanes cannot change the result."""

    episodes: int = EPISODES

    def __post_init__(self) -> None:
        self._sums: dict[str, np.ndarray] = {}
        self._squares: dict[str, np.ndarray] = {}
        self._counts = np.zeros(self.episodes + 1)

    def perturb_observation(self, observation: Any, step: Step) -> Any:
        """Takes one observation of every lane."""
        # Lanes without an episode stand in the last row, which nobody reads.
        rows = np.minimum(step.draws.episodes, self.episodes)
        for key, array in observation.items() if isinstance(observation, dict) else [("", observation)]:
            if key not in self._sums:
                shape = (self.episodes + 1, *array.shape[1:])
                self._sums[key], self._squares[key] = np.zeros(shape), np.zeros(shape)
            self._sums[key][rows] += array
            self._squares[key][rows] += array.astype(np.float64) ** 2
        self._counts[rows] += 1
        return observation

    def result(self) -> Calibration:
        """Returns the moments over all episodes."""
        count = self._counts[:-1].sum()
        mean = {key: sums[:-1].sum(axis=0) / count for key, sums in self._sums.items()}
        std = {}
        for key, squares in self._squares.items():
            std[key] = np.sqrt(np.maximum(squares[:-1].sum(axis=0) / count - mean[key] ** 2, 0.0))
        return Calibration(mean, std)
