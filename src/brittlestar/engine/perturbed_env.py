"""A perturbed environment for training and for loops outside brittlestar."""

import copy
from typing import Any

import gymnasium as gym
import numpy as np

from brittlestar.engine.stack import Parts, Stack
from brittlestar.envs import EnvSpec
from brittlestar.envs.batches import as_batch, take_row
from brittlestar.envs.camera_env import CameraEnv
from brittlestar.envs.step_time import step_seconds
from brittlestar.envs.worlds import World
from brittlestar.mitigations.base import Mitigation
from brittlestar.perturbations.base import Perturbation
from brittlestar.perturbations.context import Calibration
from brittlestar.schedules import Constant, StressSchedule


class OneLane:
    """A Gymnasium environment as the only lane of a stack."""

    count = 1

    def __init__(self, env: gym.Env) -> None:
        self.view = env.view if isinstance(env, CameraEnv) else None
        # The stack looks by itself.
        self.env = env.env if isinstance(env, CameraEnv) else env
        self.envs = [self.env]
        self.spec = EnvSpec(id=env.spec.id if env.spec else type(env.unwrapped).__name__)
        self.observation_space, self.action_space = env.observation_space, env.action_space
        self.max_steps = self.registered_steps = env.spec.max_episode_steps if env.spec else None
        self.compute_reward = getattr(env.unwrapped, "compute_reward", None)
        self.step_seconds = step_seconds(self.env)

    def worlds(self) -> list[World]:
        """Returns the simulator of the environment."""
        return [World(self.env)]


class PerturbedEnv(gym.Wrapper, gym.utils.RecordConstructorArgs):
    """Puts a perturbation, and a mitigation if one is given, around any Gymnasium environment.

    It runs the same code as a sweep, with one lane. Noise depends on the seed of `reset`, the number of the episode
    since, and the step; never on the environment's own random numbers. The parts are copied, so several environments
    may share one. Edits of the simulator are undone at the end of the episode, at `reset` and at `close`.
    `info["true_observation"]` and `info["true_reward"]` hold the truth; behind cameras (`CameraEnv`), the state.

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
        mitigation: Mitigation | None = None,
    ) -> None:
        gym.utils.RecordConstructorArgs.__init__(
            self, perturbation=perturbation, schedule=schedule, calibration=calibration, mitigation=mitigation
        )
        gym.Wrapper.__init__(self, env)
        self.perturbation, mitigation = copy.deepcopy((perturbation, mitigation))
        parts, lane = Parts(None, self.perturbation, mitigation or Mitigation(), schedule or Constant()), OneLane(env)
        self._stack, self._inner = Stack(lane, parts), lane.env
        self._stack.bind(calibrate=None if calibration is None else lambda: calibration)
        self.observation_space = self._stack.observation_space
        if lane.compute_reward is not None:
            # Hindsight replay asks a goal environment for the reward of other goals.
            self.compute_reward = lane.compute_reward
        self._episode, self._steps = np.full(1, -1), np.zeros(1, dtype=np.int64)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict]:
        """Starts an episode; with a seed, the noise starts again too."""
        self._stack.restore()
        observation, info = self._inner.reset(seed=seed, options=options)
        if seed is not None or self._episode[0] < 0:
            self._stack.seed(int(np.random.SeedSequence().generate_state(1)[0]) if seed is None else seed)
            self._episode[0] = -1
        self._episode, self._steps = self._episode + 1, np.zeros_like(self._steps)
        return self._observe(observation), info | {"true_observation": observation}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict]:
        """Sends the perturbed action and returns what a learner sees."""
        acted = self._stack.act(self._action(action))
        observation, reward, terminated, truncated, info = self._inner.step(acted.executed[0])
        seen_reward = self._stack.reward(np.array([reward], dtype=np.float64), as_batch(observation))
        self._steps = self._steps + 1
        ended = terminated or truncated
        if ended:
            self._stack.restore()
        info = info | {"true_observation": observation, "true_reward": reward}
        return self._observe(observation, ended), float(seen_reward[0]), terminated, truncated, info

    def close(self) -> None:
        """Undoes every edit and closes the environment."""
        self._stack.restore()
        super().close()

    def _action(self, action: Any) -> np.ndarray:
        lane = as_batch(action)
        # Half of a motor's `1` is not 0.
        whole = lane.dtype.kind in "iub" and isinstance(self.action_space, gym.spaces.Box)
        return lane.astype(self.action_space.dtype) if whole else lane

    def _observe(self, observation: Any, is_last: bool = False) -> Any:
        batch = as_batch(observation)
        self._stack.at(self._episode, self._steps)
        seen = (self._stack.peek(batch) if is_last else self._stack.observe(batch)).mitigated
        return observation if seen is batch else take_row(seen, 0)
