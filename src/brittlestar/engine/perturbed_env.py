"""A perturbed environment for training and for other people's loops."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import gymnasium as gym
import numpy as np

from brittlestar.envs.worlds import World
from brittlestar.perturbations.base import Perturbation, Step, check_parameter
from brittlestar.perturbations.context import Calibration, Context
from brittlestar.randomness import LaneDraws
from brittlestar.schedules import Constant, StressSchedule

CHANNELS = ("observation", "action", "reward", "world")


class PerturbedEnv(gym.Wrapper, gym.utils.RecordConstructorArgs):
    """Puts a perturbation around any Gymnasium environment: the very code that sweeps use, with one lane.

    Noise depends on the seed of `reset`, the number of the episode since, and the step; never on the
    environment's own random numbers. The perturbation is copied, so several environments may be given the same one.
    Edits of the simulator are undone at the end of the episode, at `reset` and at `close`.
    `info["true_observation"]` and `info["true_reward"]` hold the truth.

    Example:
        >>> from brittlestar.perturbations import GaussianObservation
        >>> env = PerturbedEnv(gym.make("CartPole-v1"), GaussianObservation(sigma=0.1))
        >>> observation, info = env.reset(seed=0)
        >>> bool((observation != info["true_observation"]).all())
        True
    """

    def __init__(
        self,
        env: gym.Env,
        perturbation: Perturbation,
        schedule: StressSchedule | None = None,
        calibration: Calibration | None = None,
    ) -> None:
        gym.utils.RecordConstructorArgs.__init__(
            self, perturbation=perturbation, schedule=schedule, calibration=calibration
        )
        gym.Wrapper.__init__(self, env)
        self.perturbation = perturbation = copy.deepcopy(perturbation)
        self.schedule = Constant() if schedule is None else schedule
        check_parameter(perturbation, self.schedule.parameter)
        perturbation.bind(env.observation_space, env.action_space, lanes=1)
        context = Context() if calibration is None else Context(calibrate=lambda: calibration)
        context.compute_reward = getattr(env.unwrapped, "compute_reward", None)
        perturbation.prepare(context)
        self._worlds = [World(env)] if perturbation.needs_world else []
        self.observation_space = perturbation.observation_space(env.observation_space)
        if context.compute_reward is not None:
            # Hindsight replay asks a goal environment for the reward of other goals.
            self.compute_reward = context.compute_reward
        self._episode, self._steps = -1, 0
        self._draws: dict[str, LaneDraws] = {}

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict]:
        """Starts an episode; with a seed, the noise starts anew too."""
        self._restore()
        observation, info = self.env.reset(seed=seed, options=options)
        if seed is not None or not self._draws:
            key = int(np.random.SeedSequence().generate_state(1)[0]) if seed is None else seed
            self._draws = {name: LaneDraws(key, f"perturbation/{name}", 1) for name in CHANNELS}
            self._episode = -1
        self._episode, self._steps = self._episode + 1, 0
        return self._observe(observation), info | {"true_observation": observation}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict]:
        """Sends the perturbed action and returns what a disturbed learner sees."""
        sent = self.perturbation.perturb_action(self._action(action), self._step("action"))[0]
        if self._worlds and not self.perturbation.is_identity:
            self.perturbation.perturb_world(self._worlds, self._step("world"))
        observation, reward, terminated, truncated, info = self.env.step(sent)
        rewards = np.array([reward], dtype=np.float64)
        after = replace(self._step("reward"), observation=_to_lane(observation))
        seen_reward = self.perturbation.perturb_reward(rewards, after)[0]
        self._steps += 1
        info = info | {"true_observation": observation, "true_reward": reward}
        if terminated or truncated:
            self._restore()
        return self._observe(observation), float(seen_reward), terminated, truncated, info

    def close(self) -> None:
        """Undoes what was edited, and closes the environment."""
        self._restore()
        super().close()

    def _restore(self) -> None:
        for world in self._worlds:
            world.restore()

    def _action(self, action: Any) -> np.ndarray:
        lane = _to_lane(action)
        # Half of a motor's `1` is not 0.
        whole = lane.dtype.kind in "iub" and isinstance(self.action_space, gym.spaces.Box)
        return lane.astype(self.action_space.dtype) if whole else lane

    def _observe(self, observation: Any) -> Any:
        if self.perturbation.is_identity:
            return observation
        return _from_lane(self.perturbation.perturb_observation(_to_lane(observation), self._step("observation")))

    def _step(self, channel: str) -> Step:
        episodes, steps = np.array([self._episode]), np.array([self._steps])
        self._draws[channel].at(episodes, steps)
        level = self.schedule.levels(episodes, steps)
        return Step(level, steps == 0, self._draws[channel], self.schedule.parameter)


def _to_lane(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: np.asarray(part)[None] for key, part in value.items()}
    return np.asarray(value)[None]


def _from_lane(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: part[0] for key, part in value.items()}
    return value[0]
