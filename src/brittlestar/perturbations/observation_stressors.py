"""Stressors of observations: concept drift, noise and blackouts, calibrated on a clean pass of the same policy."""

import math
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from gymnasium import spaces

from brittlestar.errors import Bound, NonNegative, require, require_choice
from brittlestar.perturbations.carried_state import CarriedState
from brittlestar.perturbations.context import Context
from brittlestar.perturbations.observations import ObservationPerturbation
from brittlestar.perturbations.step import Step, for_lanes
from brittlestar.randomness import LaneDraws

StressProtocol = Literal["rigorous", "compat_1_4", "compat_1_0"]
"""Units of severity: `rigorous` uses standard deviations of each number, the others those of a published benchmark."""

_QUANTA = 2.0**20
"""Parts of one typical step of a walk; whole numbers of them add up exactly, in any order."""


@dataclass
class ObservationStressor(ObservationPerturbation):
    """Perturbs observations of stressed lanes: a subclass implements `stress(array, step)`.

    The observation of a reset passes unchanged, as in the published benchmark. A Discrete observation is treated as a
    number, rounded and clipped to its range.
    """

    takes: ClassVar[tuple[type[spaces.Space], ...]] = (spaces.Box, spaces.Discrete)
    protocol: StressProtocol = field(default="rigorous", kw_only=True)

    def stress(self, array: np.ndarray, step: Step) -> np.ndarray:
        """Returns the perturbed array of all lanes; the caller restores lanes without stress."""
        raise NotImplementedError

    def bind(self, observation_space: spaces.Space, action_space: spaces.Space, lanes: int) -> None:
        super().bind(observation_space, action_space, lanes)
        entries = self.touched(observation_space)
        self._touched = [key for key, _ in entries]
        discrete = {key: space for key, space in entries if isinstance(space, spaces.Discrete)}
        self._range = {key: (int(space.start), int(space.start + space.n) - 1) for key, space in discrete.items()}

    def prepare(self, context: Context) -> None:
        std = context.reference().std
        self._std = {key: np.asarray(std[key], dtype=np.float64) for key in self._touched}
        self._mean_std = float(np.mean(np.concatenate([values.ravel() for values in self._std.values()])))

    @property
    def published(self) -> bool:
        """Whether the protocol is a published one."""
        return self.protocol != "rigorous"

    def perturb(self, array: np.ndarray, step: Step) -> np.ndarray:
        stressed = (step.level > 0) & ~step.first
        if not stressed.any():
            return array
        perturbed = self.stress(array, step)
        if step.key in self._range:
            perturbed = np.clip(np.rint(perturbed), *self._range[step.key])
        return np.where(for_lanes(stressed, array), perturbed, array)


@dataclass
class ObservationNoise(ObservationStressor):
    """Adds `level * sigma * std * N(0, 1)`; a published protocol uses the mean `std` of all numbers for each."""

    strength_field: ClassVar[str] = "sigma"
    sigma: NonNegative

    def stress(self, array: np.ndarray, step: Step) -> np.ndarray:
        unit: Any = self._mean_std if self.published else self._std[step.key]
        return array + step.of(self, "sigma", array) * unit * step.draws.normal(array.shape[1:])


@dataclass
class CarryingStressor(ObservationStressor):
    """A stressor whose state passes from step to step: a subclass implements `advance` and plans it in `prepare`.

    With `carry: shock` stressed episodes pass it on, too. That couples them, so that confidence intervals over episodes
    are too narrow. None is `shock` for a published protocol and `episode` otherwise.
    """

    carry: Literal["shock", "episode"] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.carry is None:
            self.carry = "shock" if self.published else "episode"
        require_choice("carry", self.carry, ("shock", "episode"))

    def bind(self, observation_space: spaces.Space, action_space: spaces.Space, lanes: int) -> None:
        super().bind(observation_space, action_space, lanes)
        self._carried = CarriedState(lanes, self.carry == "shock", self.advance)

    def episodes_to_rerun(self, episodes: int) -> list[int]:
        return self._carried.episodes_to_rerun(episodes)

    def advance(self, state: float, level: float, draws: LaneDraws, episode: int, steps: int) -> float:
        """Returns the state after some steps of an episode."""
        raise NotImplementedError


@dataclass
class ConceptDrift(CarryingStressor):
    """Adds `d_t * std` to every observed number, with one walk `d_t = clip(d_{t-1} + level * s * N(0, 1), -3, 3)`.

    With `carry: episode` the walk starts at 0 in each episode, and `s = k / sqrt(median length)`. With `carry: shock`
    it continues over all stressed episodes, and `s = k / sqrt(median length * episodes)`. A published protocol
    multiplies `s` and the bounds by the mean std once more. A learner also sees `level * reward_sigma * N(0, 1)` on
    the reward.
    """

    strength_field: ClassVar[str] = "k"
    k: NonNegative
    reward_sigma: NonNegative = 0.05

    def prepare(self, context: Context) -> None:
        super().prepare(context)
        episodes = max(1, int((context.levels > 0).sum())) if self.carry == "shock" else 1
        unit = self._mean_std if self.published else 1.0
        self._step = self.k * unit / math.sqrt(max(1.0, context.reference().median_length) * episodes)
        self._bound = math.floor(3.0 * unit / self._step * _QUANTA) if self._step else 0.0
        self._carried.plan(context.levels, context.reference().median_length)

    def stress(self, array: np.ndarray, step: Step) -> np.ndarray:
        return array + for_lanes(self._drift(), array) * self._std[step.key]

    def perturb_reward(self, reward: np.ndarray, step: Step) -> np.ndarray:
        """Advances the walk after every step, the last one included, and adds noise to the reward."""
        self._carried.begin(step)
        if not step.level.any():
            return reward
        moves = self._moves(step.of(self, "k", reward), step.draws.normal())
        # Twice as fast as np.clip for a few numbers.
        self._carried.move(np.minimum(np.maximum(self._carried.state + moves, -self._bound), self._bound), step)
        step.report_effect("regret", np.abs(self._drift()) * (step.level > 0))
        return (reward + step.level * self.reward_sigma * step.draws.normal()).astype(reward.dtype, copy=False)

    def _drift(self) -> np.ndarray:
        return self._carried.state * (self._step / _QUANTA)

    def _moves(self, k: Any, normal: np.ndarray) -> np.ndarray:
        return np.asarray(np.rint(k / self.k * normal * _QUANTA))

    def advance(self, state: float, level: float, draws: LaneDraws, episode: int, steps: int) -> float:
        moves = self._moves(self.k * level, draws.ahead(episode, steps))
        path = state + np.cumsum(moves)
        if np.abs(path).max(initial=0.0) <= self._bound:
            return float(path[-1]) if steps else state
        for move in moves.tolist():
            state = min(max(state + move, -self._bound), self._bound)
        return state


@dataclass
class SensorBlackout(CarryingStressor):
    """Shows zeros in random windows of `shortest..longest` steps, on average in a share `level * share` of all steps.

    Outside of windows, one starts with probability `share / (mean window * (1 - share))`. In a published protocol a
    window is one step shorter, as in the benchmark's code. With `carry: shock` a window continues in the next episode.
    """

    strength_field: ClassVar[str] = "share"
    share: Annotated[float, Bound("in [0, 1)", lambda share: 0 <= share < 1)]
    shortest: Annotated[int, Bound("at least 2", lambda steps: steps >= 2)] = 3
    longest: int = 15

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.longest >= self.shortest, "longest", f"at least shortest = {self.shortest}", self.longest)

    def bind(self, observation_space: spaces.Space, action_space: spaces.Space, lanes: int) -> None:
        super().bind(observation_space, action_space, lanes)
        self._dark = np.zeros(lanes, dtype=bool)

    def prepare(self, context: Context) -> None:
        """Takes the time limit of episodes; needs no calibration."""
        self._carried.plan(context.levels, context.max_steps or 0)

    def stress(self, array: np.ndarray, step: Step) -> np.ndarray:
        dark = for_lanes(self._dark, array)
        step.report_mask(np.broadcast_to(dark & for_lanes(step.level > 0, array), array.shape))
        return np.where(dark, 0, array)

    def perturb_reward(self, reward: np.ndarray, step: Step) -> np.ndarray:
        """Draws whether a window covers the observation of this step."""
        self._carried.begin(step)
        if not step.level.any():
            return reward
        share = step.of(self, "share", reward)
        starts = (step.draws.uniform() < self._chance(share)) & (self._carried.state == 0)
        left = self._carried.state
        if starts.any():
            left = np.where(starts, self._windows(step.draws.uniform()), left)
        self._dark = left > 0
        self._carried.move(np.maximum(left - 1.0, 0.0), step)
        lost = self._dark & (step.level > 0)
        magnitude: Any = self._magnitude(step.observation) if lost.any() else 0.0
        step.report_effect("regret", np.where(lost, magnitude, 0.0))
        return reward

    def _chance(self, share: Any) -> Any:
        return share / ((self.shortest + self.longest) / 2.0 * (1.0 - share))

    def _windows(self, uniform: np.ndarray) -> np.ndarray:
        return self.shortest + np.floor(uniform * (self.longest - self.shortest + 1)) - self.published

    def advance(self, state: float, level: float, draws: LaneDraws, episode: int, steps: int) -> float:
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
