"""Stressors of sensors: a drift of concepts, noise, blackouts; calibrated on a clean pass of the same policy.

None of them touches the observation of a reset, as in the published benchmark.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from gymnasium import spaces

from brittlestar.errors import require, require_choice
from brittlestar.perturbations.base import ObservationPerturbation, Step
from brittlestar.perturbations.carried_state import CarriedState, check_carry
from brittlestar.randomness import LaneDraws

if TYPE_CHECKING:
    from brittlestar.perturbations.context import Context

PROTOCOLS = ("rigorous", "compat_1_4", "compat_1_0")
"""Whose severity: ours, in standard deviations of each number, or the published one."""

_QUANTA = 2.0**20
"""Parts of one typical step of a walk: whole numbers of them add up exactly, in any order."""


@dataclass
class Stressor(ObservationPerturbation):
    """Perturbs observations of stressed lanes, never that of a reset: a subclass writes `stress(array, step)`.

    A Discrete observation is taken as a number, rounded and kept in its range.
    """

    takes: ClassVar[tuple[type[spaces.Space], ...]] = (spaces.Box, spaces.Discrete)
    protocol: str = field(default="rigorous", kw_only=True)

    def __post_init__(self) -> None:
        require_choice("protocol", self.protocol, PROTOCOLS)
        self._std: dict[str, np.ndarray] = {}

    def stress(self, array: np.ndarray, step: Step) -> np.ndarray:
        """Returns the perturbed array of all lanes; the caller leaves out those without stress."""
        raise NotImplementedError

    def bind(self, observation_space: spaces.Space, action_space: spaces.Space, lanes: int) -> None:
        """Takes the range of Discrete observations."""
        super().bind(observation_space, action_space, lanes)
        self._range = {
            key: (int(space.start), int(space.start + space.n) - 1)
            for key, space in self.touched(observation_space)
            if isinstance(space, spaces.Discrete)
        }
        self._touched = [key for key, _ in self.touched(observation_space)]

    def prepare(self, context: Context) -> None:
        """Takes the standard deviation of every touched number."""
        std = context.reference().std
        self._std = {key: np.asarray(std[key], dtype=np.float64) for key in self._touched}
        self._mean_std = float(np.mean(np.concatenate([values.ravel() for values in self._std.values()])))

    @property
    def published(self) -> bool:
        """Whether severity is as published, units and all."""
        return self.protocol != "rigorous"

    def perturb(self, array: np.ndarray, step: Step) -> np.ndarray:
        """Stresses the lanes that are due."""
        due = (step.level > 0) & ~step.first
        if not due.any():
            return array
        seen = self.stress(array, step)
        if step.key in self._range:
            seen = np.clip(np.rint(seen), *self._range[step.key])
        return np.where(due.reshape(-1, *[1] * (array.ndim - 1)), seen, array)


@dataclass
class ObservationNoise(Stressor):
    """Adds `level * sigma * std * N(0, 1)`; published: one and the same std, the mean of all, for every number."""

    strength_field: ClassVar[str] = "sigma"
    sigma: float

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.sigma >= 0, "sigma", "at least 0", self.sigma)

    def stress(self, array: np.ndarray, step: Step) -> np.ndarray:
        """Adds the noise."""
        unit: Any = self._mean_std if self.published else self._std[step.key]
        return array + step.of(self, "sigma", array) * unit * step.draws.normal(array.shape[1:])


@dataclass
class ConceptDrift(Stressor):
    """Adds `d_t * std` to every observed number, with one walk `d_t = clip(d_{t-1} + level * s * N(0, 1), -3, 3)`.

    With `carry: episode` it starts at 0 in each episode and spreads to `k` within one of median length: `s = k /
    sqrt(median length)`; with `carry: shock`, over all stressed ones: `s = k / sqrt(median length * episodes)`.
    Published: `s` and the bounds are multiplied by the mean std once more. A learner also sees `level * reward_sigma *
    N(0, 1)` on the reward.
    """

    strength_field: ClassVar[str] = "k"
    k: float
    carry: str | None = None
    reward_sigma: float = 0.05

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.k >= 0, "k", "at least 0", self.k)
        require(self.reward_sigma >= 0, "reward_sigma", "at least 0", self.reward_sigma)
        self.carry = check_carry(self.carry, self.published)

    def bind(self, observation_space: spaces.Space, action_space: spaces.Space, lanes: int) -> None:
        """Starts the walk anew."""
        super().bind(observation_space, action_space, lanes)
        self._walk = CarriedState(lanes, self.carry == "shock", self._walked)

    def prepare(self, context: Context) -> None:
        """Finds the size of a step."""
        super().prepare(context)
        episodes = max(1, context.stressed_episodes) if self.carry == "shock" else 1
        unit = self._mean_std if self.published else 1.0
        self._step = self.k * unit / math.sqrt(max(1.0, context.reference().median_length) * episodes)
        self._bound = math.floor(3.0 * unit / self._step * _QUANTA) if self._step else 0.0
        self._walk.expect(context.levels, context.reference().median_length)

    def stress(self, array: np.ndarray, step: Step) -> np.ndarray:
        """Adds where the walk has come to."""
        return array + self._drift().reshape(-1, *[1] * (array.ndim - 1)) * self._std[step.key]

    def perturb_reward(self, reward: np.ndarray, step: Step) -> np.ndarray:
        """Walks on, after every step, the last one included; a learner sees some noise."""
        self._walk.begin(step)
        if not step.level.any():
            return reward
        moves = self._moves(step.of(self, "k", reward), step.draws.normal())
        # Twice as fast as np.clip for a few numbers.
        self._walk.move(np.minimum(np.maximum(self._walk.state + moves, -self._bound), self._bound), step)
        step.report_effect("regret", np.abs(self._drift()) * (step.level > 0))
        return (reward + step.level * self.reward_sigma * step.draws.normal()).astype(reward.dtype, copy=False)

    def episodes_to_rerun(self, episodes: int) -> list[int]:
        """Returns the episodes that began elsewhere than the one before them ended."""
        return self._walk.episodes_to_rerun(episodes)

    def _drift(self) -> np.ndarray:
        return self._walk.state * (self._step / _QUANTA)

    def _moves(self, k: Any, normal: np.ndarray) -> np.ndarray:
        return np.asarray(np.rint(k / self.k * normal * _QUANTA))

    def _walked(self, state: float, level: float, draws: LaneDraws, episode: int, steps: int) -> float:
        moves = self._moves(self.k * level, draws.ahead(episode, steps))
        path = state + np.cumsum(moves)
        if np.abs(path).max(initial=0.0) <= self._bound:
            return float(path[-1]) if steps else state
        for move in moves.tolist():
            state = min(max(state + move, -self._bound), self._bound)
        return state


@dataclass
class SensorBlackout(Stressor):
    """Shows zeros for windows of `shortest..longest` steps that start at random, in a share `share` of all steps.

    A window starts with probability `p = share / (mean window * (1 - share))` wherever there is none. Published: the
    last step of a window is no zero, by a slip. With `carry: shock` a window goes on in the next episode.
    """

    strength_field: ClassVar[str] = "share"
    share: float
    shortest: int = 3
    longest: int = 15
    carry: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        require(0 <= self.share < 1, "share", "in [0, 1)", self.share)
        require(self.shortest >= 2, "shortest", "at least 2", self.shortest)
        require(self.longest >= self.shortest, "longest", f"at least shortest = {self.shortest}", self.longest)
        self.carry = check_carry(self.carry, self.published)

    def bind(self, observation_space: spaces.Space, action_space: spaces.Space, lanes: int) -> None:
        """Sees everything."""
        super().bind(observation_space, action_space, lanes)
        self._left = CarriedState(lanes, self.carry == "shock", self._left_over)
        self._dark = np.zeros(lanes, dtype=bool)

    def prepare(self, context: Context) -> None:
        """Takes how long episodes may be; needs no calibration."""
        self._left.expect(context.levels, context.max_steps or 0)

    def stress(self, array: np.ndarray, step: Step) -> np.ndarray:
        """Shows zeros."""
        return np.where(self._dark.reshape(-1, *[1] * (array.ndim - 1)), 0, array)

    def perturb_reward(self, reward: np.ndarray, step: Step) -> np.ndarray:
        """Draws whether the observation that came with the reward will be seen."""
        self._left.begin(step)
        if not step.level.any():
            return reward
        share = step.of(self, "share", reward)
        starts = (step.draws.uniform() < self._chance(share)) & (self._left.state == 0)
        left = self._left.state
        if starts.any():
            left = np.where(starts, self._windows(step.draws.uniform()), left)
        self._dark = left > 0
        self._left.move(np.maximum(left - 1.0, 0.0), step)
        lost = self._dark & (step.level > 0)
        step.report_effect(
            "regret", np.where(lost, self._magnitude(step.observation), 0.0) if lost.any() else np.zeros(len(lost))
        )
        return reward

    def episodes_to_rerun(self, episodes: int) -> list[int]:
        """Returns the episodes that began in another state than the one before them left."""
        return self._left.episodes_to_rerun(episodes)

    def _chance(self, share: Any) -> Any:
        return share / ((self.shortest + self.longest) / 2.0 * (1.0 - share))

    def _windows(self, uniform: np.ndarray) -> np.ndarray:
        return self.shortest + np.floor(uniform * (self.longest - self.shortest + 1)) - self.published

    def _left_over(self, state: float, level: float, draws: LaneDraws, episode: int, steps: int) -> float:
        starts = np.flatnonzero(draws.ahead(episode, steps, "uniform") < self._chance(self.share * level))
        windows = self._windows(draws.ahead(episode, steps, "uniform", 1)[starts])
        end = state
        for at, window in zip(starts.tolist(), windows.tolist(), strict=True):
            if at >= end:
                end = at + window
        return max(end - steps, 0.0)

    def _magnitude(self, observation: Any) -> np.ndarray:
        arrays = [observation[key] if key else observation for key in self._touched]
        flat = [np.abs(array.reshape(len(array), -1), dtype=np.float64) for array in arrays]
        return (flat[0] if len(flat) == 1 else np.concatenate(flat, axis=1)).mean(axis=1)
