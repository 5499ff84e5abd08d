"""The passes that parts are calibrated on: perturbations that record what they see."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from brittlestar.envs.batches import entries
from brittlestar.perturbations.base import Perturbation
from brittlestar.perturbations.compose import Scheduled
from brittlestar.perturbations.context import Calibration
from brittlestar.perturbations.step import Step
from brittlestar.schedules import Constant

CALIBRATION_EPISODES = 8
"""Episodes of the clean pass."""
REFERENCE_EPISODES = 60
"""Episodes of the longer clean pass that stressors are calibrated on."""

_ORDERS = 3


class EpisodeSums:
    """Sums by name and episode, so that they do not depend on lanes: `by_name` holds `(episodes + 1, ...)` arrays."""

    def __init__(self, episodes: int) -> None:
        self._episodes, self.by_name = episodes, dict[Any, np.ndarray]()

    def add(self, name: Any, values: np.ndarray, step: Step) -> None:
        """Adds the values of every lane, `(lanes, ...)`; lanes without an episode have the last row."""
        sums = self.by_name.setdefault(name, np.zeros((self._episodes + 1, *values.shape[1:])))
        sums[np.minimum(step.draws.episodes, self._episodes)] += values

    def mean(self, name: Any, count: Any) -> np.ndarray:
        """Returns the sum over all episodes, divided by that of another name, which is at least 1."""
        total, number = (self.by_name.get(key, np.zeros(1))[:-1].sum(axis=0) for key in (name, count))
        return total / np.maximum(number, 1.0)


@dataclass
class ObservationRecorder(Perturbation):
    """Passes observations on, and records their sums and those of their changes."""

    episodes: int = CALIBRATION_EPISODES

    def __post_init__(self) -> None:
        self._sums, self._last = EpisodeSums(self.episodes), dict[str, list[np.ndarray]]()

    def perturb_observation(self, observation: Any, step: Step) -> Any:
        """Records one observation of every lane."""
        steps = step.draws.steps
        for key, array in entries(observation).items():
            self._sums.add(("sum", key), array, step)
            for order, values in enumerate(self._differences(key, array)):
                valid = steps.reshape(-1, *[1] * (array.ndim - 1)) >= order
                self._sums.add((order, key), np.where(valid, values, 0.0) ** 2, step)
        for order in range(_ORDERS):
            self._sums.add(order, steps >= order, step)
        return observation

    def perturb_reward(self, reward: np.ndarray, step: Step) -> np.ndarray:
        """Records one reward of every lane."""
        self._sums.add("reward", reward, step)
        self._sums.add("reward_square", reward.astype(np.float64) ** 2, step)
        return reward

    def result(self) -> Calibration:
        """Returns the moments over all episodes."""
        sums = self._sums
        mean = {key: sums.mean(("sum", key), 0) for key in self._last}
        std, *changes = ({key: sums.mean((order, key), order) for key in mean} for order in range(_ORDERS))
        std = {key: np.sqrt(np.maximum(square - mean[key] ** 2, 0.0)) for key, square in std.items()}
        speed, acceleration = ({key: np.sqrt(square) for key, square in change.items()} for change in changes)
        reward, square = sums.mean("reward", 0), sums.mean("reward_square", 0)
        reward_std = math.sqrt(max(square - reward**2, 0.0))
        return Calibration(mean, std, speed, acceleration, float(np.median(sums.by_name[0][:-1])), reward_std)

    def _differences(self, key: str, array: np.ndarray) -> list[np.ndarray]:
        """Returns the observation, its change and the change of that, also over the start of an episode."""
        differences = [array.astype(np.float64)]
        for last in self._last.get(key, [differences[0], np.zeros_like(differences[0])]):
            differences.append(differences[-1] - last)
        self._last[key] = differences[:-1]
        return differences


class NoiseRecorder(Scheduled):
    """Lets a perturbation act at full strength, and records how far it moves every observed number."""

    def __init__(self, perturbation: Perturbation, episodes: int = CALIBRATION_EPISODES) -> None:
        super().__init__(perturbation, Constant())
        self._sums = EpisodeSums(episodes)

    def perturb_observation(self, observation: Any, step: Step) -> Any:
        """Records the error of one observation of every lane."""
        seen = super().perturb_observation(observation, step)
        truth = entries(observation)
        for key, array in entries(seen).items():
            self._sums.add(key, (array.astype(np.float64) - truth[key]) ** 2, step)
        self._sums.add(None, np.ones(len(step.level)), step)
        return seen

    def result(self) -> dict[str, np.ndarray]:
        """Returns the root mean square errors over all episodes, key by key."""
        return {key: np.sqrt(self._sums.mean(key, None)) for key in self._sums.by_name if key is not None}
