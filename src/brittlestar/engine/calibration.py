"""The clean pass that parts are calibrated on: what it observes, and what is kept of that."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from brittlestar.perturbations.base import Perturbation
from brittlestar.perturbations.compose import Scheduled
from brittlestar.perturbations.context import Calibration
from brittlestar.perturbations.step import Step
from brittlestar.schedules import Constant

EPISODES = 8
"""Of the clean pass."""
REFERENCE_EPISODES = 60
"""Of the longer one that stressors are calibrated on."""

_ORDERS = 3


@dataclass
class ObservationRecorder(Perturbation):
    """Passes observations on and remembers their sums, episode by episode: lanes cannot change the result."""

    episodes: int = EPISODES

    def __post_init__(self) -> None:
        # By order of the difference: the observation, its change from step to step, the change of that.
        self._squares: list[dict[str, np.ndarray]] = [{} for _ in range(_ORDERS)]
        self._counts = np.zeros((_ORDERS, self.episodes + 1))
        self._sums: dict[str, np.ndarray] = {}
        self._rewards = np.zeros((2, self.episodes + 1))
        self._last: dict[str, list[np.ndarray]] = {}

    def perturb_observation(self, observation: Any, step: Step) -> Any:
        """Takes one observation of every lane."""
        # Lanes without an episode stand in the last row, which nobody reads.
        rows = np.minimum(step.draws.episodes, self.episodes)
        for key, array in observation.items() if isinstance(observation, dict) else [("", observation)]:
            shape = (self.episodes + 1, *array.shape[1:])
            self._sums.setdefault(key, np.zeros(shape))[rows] += array
            for order, values in enumerate(self._differences(key, array)):
                known = step.draws.steps.reshape(-1, *[1] * (array.ndim - 1)) >= order
                squares = self._squares[order].setdefault(key, np.zeros(shape))
                squares[rows] += np.where(known, values, 0.0) ** 2
        for order in range(_ORDERS):
            self._counts[order, rows] += step.draws.steps >= order
        return observation

    def perturb_reward(self, reward: np.ndarray, step: Step) -> np.ndarray:
        """Takes one reward of every lane."""
        rows = np.minimum(step.draws.episodes, self.episodes)
        self._rewards[0, rows] += reward
        self._rewards[1, rows] += reward.astype(np.float64) ** 2
        return reward

    def result(self) -> Calibration:
        """Returns the moments over all episodes."""
        counts = np.maximum(self._counts[:, :-1].sum(axis=1), 1.0)
        mean = {key: sums[:-1].sum(axis=0) / counts[0] for key, sums in self._sums.items()}
        means = [
            {key: squares[:-1].sum(axis=0) / count for key, squares in by_key.items()}
            for by_key, count in zip(self._squares, counts, strict=True)
        ]
        std = {key: np.sqrt(np.maximum(square - mean[key] ** 2, 0.0)) for key, square in means[0].items()}
        speed, acceleration = ({key: np.sqrt(square) for key, square in by_key.items()} for by_key in means[1:])
        reward, square = self._rewards[:, :-1].sum(axis=1) / counts[0]
        reward_std = math.sqrt(max(square - reward**2, 0.0))
        return Calibration(mean, std, speed, acceleration, float(np.median(self._counts[0, :-1])), reward_std)

    def _differences(self, key: str, array: np.ndarray) -> list[np.ndarray]:
        """Returns the observation, its change and the change of that, whether an episode starts between or not."""
        found = [array.astype(np.float64)]
        for last in self._last.get(key, [found[0], np.zeros_like(found[0])]):
            found.append(found[-1] - last)
        self._last[key] = found[:-1]
        return found


class NoiseRecorder(Scheduled):
    """Lets a perturbation act at full strength, and remembers how far it moved every observed number.

    Example:
        >>> from brittlestar.perturbations import BiasObservation
        >>> from brittlestar.randomness import LaneDraws
        >>> recorder = NoiseRecorder(BiasObservation(bias=0.5, draw="fixed"), episodes=1)
        >>> step = Step(np.ones(1), np.ones(1, bool), LaneDraws(0, "noise", 1))
        >>> _ = recorder.perturb_observation(np.zeros((1, 2)), step)
        >>> recorder.result()[""].tolist()
        [0.5, 0.5]
    """

    def __init__(self, perturbation: Perturbation, episodes: int = EPISODES) -> None:
        super().__init__(perturbation, Constant())
        self._episodes, self._counts = episodes, np.zeros(episodes + 1)
        self._squares: dict[str, np.ndarray] = {}

    def perturb_observation(self, observation: Any, step: Step) -> Any:
        """Takes what is seen of one observation of every lane."""
        seen = super().perturb_observation(observation, step)
        rows = np.minimum(step.draws.episodes, self._episodes)
        self._counts[rows] += 1
        whole = isinstance(seen, dict)
        for key in seen if whole else [""]:
            true, shown = (observation[key], seen[key]) if whole else (observation, seen)
            squares = self._squares.setdefault(key, np.zeros((self._episodes + 1, *true.shape[1:])))
            squares[rows] += (shown.astype(np.float64) - true) ** 2
        return seen

    def result(self) -> dict[str, np.ndarray]:
        """Returns the root mean square errors over all episodes, key by key."""
        count = max(self._counts[:-1].sum(), 1.0)
        return {key: np.sqrt(squares[:-1].sum(axis=0) / count) for key, squares in self._squares.items()}
